var B=globalThis,K=B.ShadowRoot&&(B.ShadyCSS===void 0||B.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,ve=Symbol(),ke=new WeakMap,W=class{constructor(e,n,s){if(this._$cssResult$=!0,s!==ve)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=n}get styleSheet(){let e=this.o,n=this.t;if(K&&e===void 0){let s=n!==void 0&&n.length===1;s&&(e=ke.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),s&&ke.set(n,e))}return e}toString(){return this.cssText}},we=t=>new W(typeof t=="string"?t:t+"",void 0,ve);var $e=(t,e)=>{if(K)t.adoptedStyleSheets=e.map(n=>n instanceof CSSStyleSheet?n:n.styleSheet);else for(let n of e){let s=document.createElement("style"),i=B.litNonce;i!==void 0&&s.setAttribute("nonce",i),s.textContent=n.cssText,t.appendChild(s)}},z=K?t=>t:t=>t instanceof CSSStyleSheet?(e=>{let n="";for(let s of e.cssRules)n+=s.cssText;return we(n)})(t):t;var{is:nt,defineProperty:st,getOwnPropertyDescriptor:it,getOwnPropertyNames:ot,getOwnPropertySymbols:rt,getPrototypeOf:at}=Object,V=globalThis,Ae=V.trustedTypes,dt=Ae?Ae.emptyScript:"",lt=V.reactiveElementPolyfillSupport,C=(t,e)=>t,X={toAttribute(t,e){switch(e){case Boolean:t=t?dt:null;break;case Object:case Array:t=t==null?t:JSON.stringify(t)}return t},fromAttribute(t,e){let n=t;switch(e){case Boolean:n=t!==null;break;case Number:n=t===null?null:Number(t);break;case Object:case Array:try{n=JSON.parse(t)}catch{n=null}}return n}},Te=(t,e)=>!nt(t,e),_e={attribute:!0,type:String,converter:X,reflect:!1,useDefault:!1,hasChanged:Te};Symbol.metadata??=Symbol("metadata"),V.litPropertyMetadata??=new WeakMap;var $=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,n=_e){if(n.state&&(n.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((n=Object.create(n)).wrapped=!0),this.elementProperties.set(e,n),!n.noAccessor){let s=Symbol(),i=this.getPropertyDescriptor(e,s,n);i!==void 0&&st(this.prototype,e,i)}}static getPropertyDescriptor(e,n,s){let{get:i,set:o}=it(this.prototype,e)??{get(){return this[n]},set(r){this[n]=r}};return{get:i,set(r){let c=i?.call(this);o?.call(this,r),this.requestUpdate(e,c,s)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??_e}static _$Ei(){if(this.hasOwnProperty(C("elementProperties")))return;let e=at(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(C("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(C("properties"))){let n=this.properties,s=[...ot(n),...rt(n)];for(let i of s)this.createProperty(i,n[i])}let e=this[Symbol.metadata];if(e!==null){let n=litPropertyMetadata.get(e);if(n!==void 0)for(let[s,i]of n)this.elementProperties.set(s,i)}this._$Eh=new Map;for(let[n,s]of this.elementProperties){let i=this._$Eu(n,s);i!==void 0&&this._$Eh.set(i,n)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let n=[];if(Array.isArray(e)){let s=new Set(e.flat(1/0).reverse());for(let i of s)n.unshift(z(i))}else e!==void 0&&n.push(z(e));return n}static _$Eu(e,n){let s=n.attribute;return s===!1?void 0:typeof s=="string"?s:typeof e=="string"?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,n=this.constructor.elementProperties;for(let s of n.keys())this.hasOwnProperty(s)&&(e.set(s,this[s]),delete this[s]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return $e(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,n,s){this._$AK(e,s)}_$ET(e,n){let s=this.constructor.elementProperties.get(e),i=this.constructor._$Eu(e,s);if(i!==void 0&&s.reflect===!0){let o=(s.converter?.toAttribute!==void 0?s.converter:X).toAttribute(n,s.type);this._$Em=e,o==null?this.removeAttribute(i):this.setAttribute(i,o),this._$Em=null}}_$AK(e,n){let s=this.constructor,i=s._$Eh.get(e);if(i!==void 0&&this._$Em!==i){let o=s.getPropertyOptions(i),r=typeof o.converter=="function"?{fromAttribute:o.converter}:o.converter?.fromAttribute!==void 0?o.converter:X;this._$Em=i;let c=r.fromAttribute(n,o.type);this[i]=c??this._$Ej?.get(i)??c,this._$Em=null}}requestUpdate(e,n,s,i=!1,o){if(e!==void 0){let r=this.constructor;if(i===!1&&(o=this[e]),s??=r.getPropertyOptions(e),!((s.hasChanged??Te)(o,n)||s.useDefault&&s.reflect&&o===this._$Ej?.get(e)&&!this.hasAttribute(r._$Eu(e,s))))return;this.C(e,n,s)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(e,n,{useDefault:s,reflect:i,wrapped:o},r){s&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,r??n??this[e]),o!==!0||r!==void 0)||(this._$AL.has(e)||(this.hasUpdated||s||(n=void 0),this._$AL.set(e,n)),i===!0&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(n){Promise.reject(n)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[i,o]of this._$Ep)this[i]=o;this._$Ep=void 0}let s=this.constructor.elementProperties;if(s.size>0)for(let[i,o]of s){let{wrapped:r}=o,c=this[i];r!==!0||this._$AL.has(i)||c===void 0||this.C(i,void 0,o,c)}}let e=!1,n=this._$AL;try{e=this.shouldUpdate(n),e?(this.willUpdate(n),this._$EO?.forEach(s=>s.hostUpdate?.()),this.update(n)):this._$EM()}catch(s){throw e=!1,this._$EM(),s}e&&this._$AE(n)}willUpdate(e){}_$AE(e){this._$EO?.forEach(n=>n.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(n=>this._$ET(n,this[n])),this._$EM()}updated(e){}firstUpdated(e){}};$.elementStyles=[],$.shadowRootOptions={mode:"open"},$[C("elementProperties")]=new Map,$[C("finalized")]=new Map,lt?.({ReactiveElement:$}),(V.reactiveElementVersions??=[]).push("2.1.2");var ie=globalThis,Ee=t=>t,F=ie.trustedTypes,xe=F?F.createPolicy("lit-html",{createHTML:t=>t}):void 0,Oe="$lit$",A=`lit$${Math.random().toFixed(9).slice(2)}$`,Ne="?"+A,ht=`<${Ne}>`,E=document,M=()=>E.createComment(""),H=t=>t===null||typeof t!="object"&&typeof t!="function",oe=Array.isArray,ct=t=>oe(t)||typeof t?.[Symbol.iterator]=="function",Q=`[ 	
\f\r]`,L=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Se=/-->/g,Ie=/>/g,_=RegExp(`>|${Q}(?:([^\\s"'>=/]+)(${Q}*=${Q}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),Pe=/'/g,Re=/"/g,Ce=/^(?:script|style|textarea|title)$/i,re=t=>(e,...n)=>({_$litType$:t,strings:e,values:n}),p=re(1),g=re(2),qt=re(3),x=Symbol.for("lit-noChange"),h=Symbol.for("lit-nothing"),Ue=new WeakMap,T=E.createTreeWalker(E,129);function Le(t,e){if(!oe(t)||!t.hasOwnProperty("raw"))throw Error("invalid template strings array");return xe!==void 0?xe.createHTML(e):e}var ut=(t,e)=>{let n=t.length-1,s=[],i,o=e===2?"<svg>":e===3?"<math>":"",r=L;for(let c=0;c<n;c++){let a=t[c],m,u,l=-1,f=0;for(;f<a.length&&(r.lastIndex=f,u=r.exec(a),u!==null);)f=r.lastIndex,r===L?u[1]==="!--"?r=Se:u[1]!==void 0?r=Ie:u[2]!==void 0?(Ce.test(u[2])&&(i=RegExp("</"+u[2],"g")),r=_):u[3]!==void 0&&(r=_):r===_?u[0]===">"?(r=i??L,l=-1):u[1]===void 0?l=-2:(l=r.lastIndex-u[2].length,m=u[1],r=u[3]===void 0?_:u[3]==='"'?Re:Pe):r===Re||r===Pe?r=_:r===Se||r===Ie?r=L:(r=_,i=void 0);let b=r===_&&t[c+1].startsWith("/>")?" ":"";o+=r===L?a+ht:l>=0?(s.push(m),a.slice(0,l)+Oe+a.slice(l)+A+b):a+A+(l===-2?c:b)}return[Le(t,o+(t[n]||"<?>")+(e===2?"</svg>":e===3?"</math>":"")),s]},D=class t{constructor({strings:e,_$litType$:n},s){let i;this.parts=[];let o=0,r=0,c=e.length-1,a=this.parts,[m,u]=ut(e,n);if(this.el=t.createElement(m,s),T.currentNode=this.el.content,n===2||n===3){let l=this.el.content.firstChild;l.replaceWith(...l.childNodes)}for(;(i=T.nextNode())!==null&&a.length<c;){if(i.nodeType===1){if(i.hasAttributes())for(let l of i.getAttributeNames())if(l.endsWith(Oe)){let f=u[r++],b=i.getAttribute(l).split(A),I=/([.?@])?(.*)/.exec(f);a.push({type:1,index:o,name:I[2],strings:b,ctor:I[1]==="."?ee:I[1]==="?"?te:I[1]==="@"?ne:R}),i.removeAttribute(l)}else l.startsWith(A)&&(a.push({type:6,index:o}),i.removeAttribute(l));if(Ce.test(i.tagName)){let l=i.textContent.split(A),f=l.length-1;if(f>0){i.textContent=F?F.emptyScript:"";for(let b=0;b<f;b++)i.append(l[b],M()),T.nextNode(),a.push({type:2,index:++o});i.append(l[f],M())}}}else if(i.nodeType===8)if(i.data===Ne)a.push({type:2,index:o});else{let l=-1;for(;(l=i.data.indexOf(A,l+1))!==-1;)a.push({type:7,index:o}),l+=A.length-1}o++}}static createElement(e,n){let s=E.createElement("template");return s.innerHTML=e,s}};function P(t,e,n=t,s){if(e===x)return e;let i=s!==void 0?n._$Co?.[s]:n._$Cl,o=H(e)?void 0:e._$litDirective$;return i?.constructor!==o&&(i?._$AO?.(!1),o===void 0?i=void 0:(i=new o(t),i._$AT(t,n,s)),s!==void 0?(n._$Co??=[])[s]=i:n._$Cl=i),i!==void 0&&(e=P(t,i._$AS(t,e.values),i,s)),e}var Z=class{constructor(e,n){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=n}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:n},parts:s}=this._$AD,i=(e?.creationScope??E).importNode(n,!0);T.currentNode=i;let o=T.nextNode(),r=0,c=0,a=s[0];for(;a!==void 0;){if(r===a.index){let m;a.type===2?m=new j(o,o.nextSibling,this,e):a.type===1?m=new a.ctor(o,a.name,a.strings,this,e):a.type===6&&(m=new se(o,this,e)),this._$AV.push(m),a=s[++c]}r!==a?.index&&(o=T.nextNode(),r++)}return T.currentNode=E,i}p(e){let n=0;for(let s of this._$AV)s!==void 0&&(s.strings!==void 0?(s._$AI(e,s,n),n+=s.strings.length-2):s._$AI(e[n])),n++}},j=class t{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,n,s,i){this.type=2,this._$AH=h,this._$AN=void 0,this._$AA=e,this._$AB=n,this._$AM=s,this.options=i,this._$Cv=i?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,n=this._$AM;return n!==void 0&&e?.nodeType===11&&(e=n.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,n=this){e=P(this,e,n),H(e)?e===h||e==null||e===""?(this._$AH!==h&&this._$AR(),this._$AH=h):e!==this._$AH&&e!==x&&this._(e):e._$litType$!==void 0?this.$(e):e.nodeType!==void 0?this.T(e):ct(e)?this.k(e):this._(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==h&&H(this._$AH)?this._$AA.nextSibling.data=e:this.T(E.createTextNode(e)),this._$AH=e}$(e){let{values:n,_$litType$:s}=e,i=typeof s=="number"?this._$AC(e):(s.el===void 0&&(s.el=D.createElement(Le(s.h,s.h[0]),this.options)),s);if(this._$AH?._$AD===i)this._$AH.p(n);else{let o=new Z(i,this),r=o.u(this.options);o.p(n),this.T(r),this._$AH=o}}_$AC(e){let n=Ue.get(e.strings);return n===void 0&&Ue.set(e.strings,n=new D(e)),n}k(e){oe(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,s,i=0;for(let o of e)i===n.length?n.push(s=new t(this.O(M()),this.O(M()),this,this.options)):s=n[i],s._$AI(o),i++;i<n.length&&(this._$AR(s&&s._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,n){for(this._$AP?.(!1,!0,n);e!==this._$AB;){let s=Ee(e).nextSibling;Ee(e).remove(),e=s}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},R=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,n,s,i,o){this.type=1,this._$AH=h,this._$AN=void 0,this.element=e,this.name=n,this._$AM=i,this.options=o,s.length>2||s[0]!==""||s[1]!==""?(this._$AH=Array(s.length-1).fill(new String),this.strings=s):this._$AH=h}_$AI(e,n=this,s,i){let o=this.strings,r=!1;if(o===void 0)e=P(this,e,n,0),r=!H(e)||e!==this._$AH&&e!==x,r&&(this._$AH=e);else{let c=e,a,m;for(e=o[0],a=0;a<o.length-1;a++)m=P(this,c[s+a],n,a),m===x&&(m=this._$AH[a]),r||=!H(m)||m!==this._$AH[a],m===h?e=h:e!==h&&(e+=(m??"")+o[a+1]),this._$AH[a]=m}r&&!i&&this.j(e)}j(e){e===h?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??"")}},ee=class extends R{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===h?void 0:e}},te=class extends R{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==h)}},ne=class extends R{constructor(e,n,s,i,o){super(e,n,s,i,o),this.type=5}_$AI(e,n=this){if((e=P(this,e,n,0)??h)===x)return;let s=this._$AH,i=e===h&&s!==h||e.capture!==s.capture||e.once!==s.once||e.passive!==s.passive,o=e!==h&&(s===h||i);i&&this.element.removeEventListener(this.name,this,s),o&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},se=class{constructor(e,n,s){this.element=e,this.type=6,this._$AN=void 0,this._$AM=n,this.options=s}get _$AU(){return this._$AM._$AU}_$AI(e){P(this,e)}};var pt=ie.litHtmlPolyfillSupport;pt?.(D,j),(ie.litHtmlVersions??=[]).push("3.3.3");var Me=(t,e,n)=>{let s=n?.renderBefore??e,i=s._$litPart$;if(i===void 0){let o=n?.renderBefore??null;s._$litPart$=i=new j(e.insertBefore(M(),o),o,void 0,n??{})}return i._$AI(t),i};var ae=globalThis,w=class extends ${constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let n=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Me(n,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return x}};w._$litElement$=!0,w.finalized=!0,ae.litElementHydrateSupport?.({LitElement:w});var mt=ae.litElementPolyfillSupport;mt?.({LitElement:w});(ae.litElementVersions??=[]).push("4.2.2");var He=`// Receives Latchkey's webhooks. It needs verify.mjs in the same folder.
//
//   BASE_URL=https://api.example.com ENDPOINT_ID=whe_… node receiver.mjs
//
// ISSUER is the iss of the webhooks (default: BASE_URL). PORT is the port on this machine (4000).
// The answers: 204 when the event is handled, 401 when the webhook is not genuine, 500 when the
// work failed, 503 when the key cannot be looked up. After 401, 500, 503 the webhook comes again.
import { createServer } from 'node:http'
import { MAX_LENGTH, Unavailable, verifier } from './verify.mjs'

const { BASE_URL, ENDPOINT_ID, ISSUER, PORT = '4000' } = process.env
if (!BASE_URL || !ENDPOINT_ID) throw new Error('BASE_URL and ENDPOINT_ID are needed')
const verify = verifier({ baseURL: BASE_URL, endpointId: ENDPOINT_ID, issuer: ISSUER })

// Put your work here. The same event can come again; it has the same id then.
async function work(event) {
  if (event.test) return // an example event; nothing happened
  console.log(event.id, event.type)
}

async function statusOf(request) {
  let token = '', event
  try {
    for await (const chunk of request.setEncoding('latin1')) {
      if (token.length <= MAX_LENGTH) token += chunk // read the rest, but do not keep it
    }
    event = await verify(token)
  } catch (error) {
    return error instanceof Unavailable ? 503 : 401
  }
  return work(event).then(
    () => 204,
    (error) => { console.error(error); return 500 },
  )
}

createServer(async (request, response) => {
  response.writeHead(await statusOf(request)).end()
}).listen(PORT, '127.0.0.1')
`;var De=`// Verifies Latchkey's webhooks. It needs npm install jose.
import { createRemoteJWKSet, jwtVerify } from 'jose'

export const MAX_LENGTH = 256 * 1024 // bytes of a webhook
const KEY_LIFETIME = 5 * 60 * 1000 // milliseconds for which this program remembers a key

// Unavailable means that the webhook cannot be verified now, because the key could not be looked up.
export class Unavailable extends Error {}

function check(condition) {
  if (!condition) throw new Error('the webhook is refused')
}
const isText = (value) => typeof value === 'string' && value !== ''
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

// decode reads base64url and refuses another spelling of the same bytes.
function decode(text) {
  const bytes = Buffer.from(text, 'base64url')
  check(bytes.toString('base64url') === text)
  return bytes
}

// parse reads JSON and refuses an object with two members of the same name. JSON.parse keeps only
// the last of the two: then the value has fewer members than the text has colons outside of strings.
function parse(bytes) {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  let members = -1 // JSON.parse also passes the whole value as a member
  const value = JSON.parse(text, function (name, member) {
    if (!Array.isArray(this)) members++
    return member
  })
  const colons = text.replace(/"(?:[^"\\\\]|\\\\.)*"/g, '').split(':').length - 1
  check(isObject(value) && members === colons)
  return value
}

// verifier returns the function verify(token), which returns the event of a genuine webhook. Any other error than Unavailable
// means: not genuine. baseURL is the URL of the API, issuer the iss of the webhooks if that is another URL.
export function verifier({ baseURL, endpointId, issuer = baseURL }) {
  // The public keys. The set is fetched again for a kid that is not in it, at most twice a minute.
  const keySetURL = new URL(baseURL + '/.well-known/jwks.json')
  const keySet = createRemoteJWKSet(keySetURL, { cacheMaxAge: KEY_LIFETIME })

  function publicKey(header, token) {
    return keySet(header, token).catch((error) => {
      throw error.code === 'ERR_JWKS_NO_MATCHING_KEY' ? error : new Unavailable()
    })
  }

  const ends = new Map() // kid → { end, until }, only for keys that have verified a signature

  // endOf returns the time, in milliseconds, from which signatures of a key are not valid: 0 if the key was revoked,
  // Infinity while it is in use.
  async function endOf(kid) {
    const known = ends.get(kid)
    if (known && known.until > Date.now()) return known.end
    const response = await fetch(baseURL + '/webhook_verification_key/get', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ kid }),
      redirect: 'error',
      signal: AbortSignal.timeout(5000),
    })
    if (!response.ok && response.status !== 410) throw new Unavailable()
    const end = response.ok ? ((await response.json()).expiredAt ?? Infinity) : 0
    ends.set(kid, { end, until: Date.now() + KEY_LIFETIME })
    return end
  }

  return async function verify(token) {
    check(token.length <= MAX_LENGTH)
    const parts = token.split('.')
    check(parts.length === 3 && decode(parts[2]).length === 64)
    const header = parse(decode(parts[0]))
    const { aud, iat, exp, event } = parse(decode(parts[1]))
    check(header.alg === 'ES256' && header.typ === 'webhook+jwt' && !('crit' in header))
    check(decode(header.kid).length === 32)
    check(aud === endpointId || (Array.isArray(aud) && aud.length === 1 && aud[0] === endpointId))
    check(Number.isInteger(iat) && Number.isInteger(exp) && exp > Date.now() / 1000)
    check(isText(event.id) && isText(event.type) && event.createdAt > 0 && isObject(event.data))
    const expected = { algorithms: ['ES256'], issuer, audience: endpointId }
    await jwtVerify(token, publicKey, { ...expected, maxTokenAge: '5m', clockTolerance: 60 })
    const end = await endOf(header.kid).catch(() => { throw new Unavailable() })
    check(iat * 1000 < end)
    return event
  }
}
`;var je=`"""Receives Latchkey's webhooks in FastAPI. It needs verify.py in the same folder: pip install fastapi uvicorn 'PyJWT[crypto]'

    BASE_URL=https://api.example.com ENDPOINT_ID=whe_… uvicorn receiver_fastapi:app --port 4000 --no-access-log
"""
import os

from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from verify import MAX_LENGTH, Unavailable, verify

app, env = FastAPI(), os.environ
settings = dict(base_url=env["BASE_URL"], endpoint_id=env["ENDPOINT_ID"], issuer=env.get("ISSUER"))


@app.post("/", status_code=204)
async def receive(request: Request):
    token = b""
    async for chunk in request.stream():
        token += chunk if len(token) <= MAX_LENGTH else b""  # read the rest, but do not keep it
    try:
        event = await run_in_threadpool(verify, token.decode("latin-1"), **settings)
    except Exception as error:
        raise HTTPException(503 if isinstance(error, Unavailable) else 401) from None
    if not event.get("test"):  # put your work here; the same event can come again, with the same id
        print(f"{event['id']} {event['type']}\\n", end="", flush=True)
`;var qe=`"""Receives Latchkey's webhooks. It needs verify.py in the same folder.

    BASE_URL=https://api.example.com ENDPOINT_ID=whe_… python receiver.py

ISSUER is the iss of the webhooks (default: BASE_URL). PORT is the port on this machine (4000).
The answers: 204 when the event is handled, 401 when the webhook is not genuine, 500 when the
work failed, 503 when the key cannot be looked up. After 401, 500 and 503 the webhook comes again.
"""
import os
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from verify import MAX_LENGTH, Unavailable, verify

SETTINGS = dict(
    base_url=os.environ["BASE_URL"], endpoint_id=os.environ["ENDPOINT_ID"], issuer=os.environ.get("ISSUER"))


def work(event):
    """Put your work here. The same event can come again; it has the same id then."""
    if event.get("test"):
        return  # an example event; nothing happened
    print(f"{event['id']} {event['type']}\\n", end="", flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds without a byte, after which the connection is closed

    def do_POST(self):
        self.send_response_only(self.status())
        self.end_headers()

    def log_message(self, *_):
        pass  # the message would have the URL and its query

    def status(self):
        try:
            length = max(0, int(self.headers["Content-Length"]))
            body = self.rfile.read(min(length, 2 * MAX_LENGTH))
            event = verify(body.decode("latin-1"), **SETTINGS)
        except Exception as error:
            return 503 if isinstance(error, Unavailable) else 401
        try:
            work(event)
        except Exception:
            traceback.print_exc()
            return 500
        return 204


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
`;var Be=`"""Verifies Latchkey's webhooks. It needs pip install 'PyJWT[crypto]'."""
import base64
import json
import threading
import time
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import jwt

MAX_LENGTH = 256 * 1024  # bytes of a webhook
MAX_AGE = 5 * 60  # seconds from the signature to the arrival
LEEWAY = 60  # seconds that the clocks of sender and receiver may differ
kept = {}  # (URL, kid): (the minute of the look-up, the good key)
locks = threading.Lock(), threading.Lock()  # for new kids, and for kept ones, so that invented kids delay no key that is in use
failures = 0  # how many look-ups have failed


class Unavailable(Exception):
    """The webhook cannot be verified now, because the key could not be looked up."""


def check(condition):
    if not condition:
        raise ValueError("the webhook is refused")


def decode(text):
    """Reads base64url, and refuses another spelling of the same bytes."""
    raw = base64.urlsafe_b64decode(text + "==")
    check(base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text)
    return raw


def no_name_twice(pairs):
    check(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def parse(raw):
    """Reads JSON, and refuses an object with two members of the same name."""
    return json.loads(raw.decode(), object_pairs_hook=no_name_twice)


class NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_):
        """Makes a redirect an error: keys come only from base_url."""


def find(base_url, kid):
    """Returns the public key, or None if it is unknown or revoked. A good key is kept for one minute."""
    name, minute, before = (base_url, kid), time.time() // 60, failures
    at, key = kept.get(name, (None, None))
    if at == minute:
        return key
    lock = locks[name in kept]  # one look-up at a time, so that invented kids cause no flood of requests
    if not lock.acquire(timeout=5):
        raise Unavailable
    try:
        if failures != before:  # a look-up failed meanwhile, and this one would take as long
            raise Unavailable
        at, key = kept.get(name, (None, None))
        if at != minute:
            key = look_up(base_url, kid)
            if len(kept) >= 100:
                kept.clear()
            kept.pop(name, None)
            if key:
                kept[name] = minute, key
        return key
    finally:
        lock.release()


def look_up(base_url, kid):
    """Asks the API for a key."""
    global failures
    url, body = base_url + "/webhook_verification_key/get", json.dumps({"kid": kid}).encode()
    try:
        request = Request(url, body, {"Content-Type": "application/json"})
        with build_opener(NoRedirect).open(request, timeout=5) as answer:
            return json.load(answer)
    except Exception as error:
        if isinstance(error, HTTPError) and error.code in (404, 410):
            return None
        failures += 1
        raise Unavailable from error


def verify(token, *, base_url, endpoint_id, issuer=None):
    """Returns the event of a genuine webhook. Any other error than Unavailable means: not genuine.

    base_url is the URL of the API, issuer the iss of the webhooks if that is another URL."""
    check(len(token) <= MAX_LENGTH)
    first, second, signature = token.split(".")
    header, claims = parse(decode(first)), parse(decode(second))
    iat, exp, event, now = claims["iat"], claims["exp"], claims["event"], time.time()
    check(len(decode(signature)) == 64 and len(decode(header["kid"])) == 32)
    check(header["alg"] == "ES256" and header["typ"] == "webhook+jwt" and "crit" not in header)
    check(claims["aud"] in (endpoint_id, [endpoint_id]))
    check(type(iat) is int and type(exp) is int)
    check(now < exp and now - MAX_AGE - LEEWAY < iat < now + LEEWAY)
    for name, kind in (("id", str), ("type", str), ("createdAt", int), ("data", dict)):
        check(type(event[name]) is kind and (event[name] or kind is dict))
    key = find(base_url, header["kid"])
    check(key and (key["expiredAt"] is None or iat * 1000 < key["expiredAt"]))
    public, issuer = jwt.PyJWK(key, "ES256"), issuer or base_url
    jwt.decode(token, public, ["ES256"], audience=endpoint_id, issuer=issuer, leeway=LEEWAY)
    return event
`;var S={base:new URL(".",location.href),isEmbedded:!1,byServices:!1,keyPrefix:"",maxKeyDays:0,supportUrl:null,readSettings:()=>Promise.resolve(),session:null};var U=(t,e)=>`${t} ${e}${t===1?"":"s"}`,y={powered:"Runs on Latchkey",ago:t=>t<1?"in the last hour":t<48?`${U(t,"hour")} ago`:`${U(Math.floor(t/24),"day")} ago`,loading:"Loading…",working:"Working…",more:"Load more",again:"Try again",refresh:"Refresh",close:"Close",cancel:"Cancel",create:"Create",save:"Save",saved:"Saved.",doneNotRead:"It is done, but this page could not be read again",edit:"Edit",rename:"Rename",remove:"Remove",copy:"Copy",csv:"Download CSV",copied:"Copied.",notCopied:"The browser did not let the page copy. Select the text and copy it.",none:"–",name:"Name",id:"Id",app:"App",status:"Status",created:"Created",actions:"Actions",problem:{title:"Something went wrong",status:t=>`The server answered ${t}.`,requestId:"Request id",ended:"The page acts for another person now. Nothing was sent.",unreachable:{title:"No answer",detail:"The server cannot be reached. Check your connection and try again."}},signIn:{title:"You are not signed in",button:"Sign in",signOut:"Sign out",out:"You are signed out",outAbout:"This page no longer has your sign-in.",again:"You signed in again. Please repeat what you were about to do.",kept:"You signed in again. What you had entered is kept: open the form again.",filled:"You had to sign in again. Nothing was sent yet: look at what you entered, and send it.",filledUnsure:"You had to sign in again. Your request may have been done already. Send it again without a change: it is not done twice.",notKept:"A URL can have a secret in it, so it was not kept: enter it again.",unreachable:"The console cannot reach its server. Check your connection and try again.",noConfig:t=>`The console has no settings: the server answered ${t}.`,lost:"The sign-in was begun in another tab, or too long ago. Sign in once more.",refused:t=>`The sign-in did not succeed: ${t}`},held:{secret:"This is not shown again, so only its button closes it.",form:"What you entered would be lost. Use Cancel to close this.",leaveSecret:"This is not shown again. Leave without it?",leaveForm:"Leave? What you entered will be lost."},nav:{menu:"Org",skip:"Skip to the content",org:"Overview",members:"Members",keys:"API keys",links:"Links",endpoints:"Webhook endpoints",deliveries:"Deliveries",events:"Events",audit:"Audit log",reference:"API reference",noOrg:"No such org",noOrgAbout:"There is no such org, or you are not a member of it.",noPage:"Nothing to see here",noPageAbout:"There is no such page, or your role in this org does not open it."},roles:{admin:"manages members, keys and webhooks",member:"sees members, keys, links and events",viewer:"sees only the org"},orgs:{title:"Your orgs",one:"Org",all:"All orgs",about:"An org has members, and apps with API keys, links and webhooks.",oneAbout:"The org and its apps.",create:"New org",createIntro:"You become its admin. It gets a first app.",created:"The org is made.",none:"You are in no org yet",noneAbout:"Make one to create API keys, or ask an admin to add you to theirs.",noneByServices:"Ask an admin of an org to add you.",role:"Role",addedBy:"Added by",externalId:"External id",allowance:"Allowance of all keys",plan:"Plan",suspended:"This org is suspended since",suspendedAbout:"Its API keys are refused. You can see what it has and end it, but make nothing new and extend nothing.",askSupport:"Ask for help",viewer:"You are a viewer of this org. An admin can give you another role.",rename:"Rename org",leave:"Leave org",leaveIntro:"You lose access at once. An org keeps at least one admin.",left:"You left the org.",delete:"Delete org",deleteIntro:"All its API keys stop working at once, and its apps, links and webhooks end. This cannot be undone.",typeName:"To confirm, type the name of the org:",otherName:"This is not the name of the org.",deleted:"The org is deleted."},apps:{title:"Apps",about:"An app owns API keys, links and webhook endpoints.",create:"New app",createIntro:"Make an app for each product or environment, such as staging.",rename:"Rename app",default:"default",keysBeginWith:"Its API keys begin with",keysBeginWithHelp:t=>`${t}, or ${t} and more letters or digits.`},members:{title:"Members",about:"The people of this org, and what they may do.",person:"Person",joined:"Joined",you:"you",add:"Add member",addSubmit:"Add",addIntro:"The person must have signed in here once, with this email verified.",email:"Email",added:"The member is added.",role:"Role",changeRole:"Change role",remove:"Remove member",removeIntro:"They lose access at once. API keys that they made stay good until you revoke them. The next form offers this.",removed:"The member is removed.",keys:"API keys that they made",revoke:"Revoke the ticked keys",keysRevoked:"The keys are revoked.",keysIntro:"The member is removed, and may have copied these keys. Tick the keys to revoke: they are refused at once.",noneTicked:"Tick the keys to revoke, or cancel to keep all of them."},keys:{title:"API keys",about:"What your servers send to prove who they are.",key:"Key",create:"New API key",unnamed:"Unnamed key",none:"No API keys yet",noneAbout:"Create a key, put it in place of $KEY, and send a first request:",noneMember:"An admin of this org can create one.",nameHelp:"Helps you to recognise the key.",expires:"Expires",ends:"Rotated: ends",never:"Never",lastUsed:"Last used",neverUsed:"Never",by:"by",byService:"a service of the owner",search:"Search",use:"Use",anyUse:"All keys",unused:"Not used for 90 days",noneShown:"No key matches.",today:t=>`${t} requests today (UTC)`,days:t=>`After ${U(t,"day")}`,hours:t=>`After ${U(t,"hour")}`,scopes:"Scopes",scopesHelp:"What the key may do at the endpoints that accept it, separated by spaces.",metadata:"Metadata",metadataName:"Name",metadataValue:"Value",metadataAdd:"Add a value",metadataHelp:"Passed to the endpoints with each request of the key; at most 1 KB.",limits:"Limits",per:t=>`per ${t}`,limit:(t,e)=>`${t} per ${e}`,limitsHelp:"How many requests are let through; at most three of the four. Empty is no limit.",ceilings:"Ceilings",ceilingsHelp:"Set by the owner of this service. Limits and ceilings both apply.",shownTitle:"Your new API key",shownIntro:"Copy it now and keep it safe. It is shown only this once.",leaked:"found in public",leakedAt:"The text of this key was found in public:",leakedTitle:"The texts of API keys were found in public. Anyone with the text of a key can use the key until you revoke it:",stillGood:"still good",isDead:"no longer good",locator:"Locator",copyLocator:"Copy for support",copyKey:"Copy key",shownDone:"I have saved the key",try:"Try it",details:"API key",edit:"Edit API key",revokedAt:"Revoked",rotatedTo:"Replaced by",rotate:"Rotate",rotateTitle:"Rotate API key",rotateIntro:"A new key takes its place, with the same name, app, scopes, metadata and limits.",asBefore:"After the same time as the old key",newExpires:"The new key expires",neverAsBefore:"Never, like the old key",grace:"The old key ends",graceNone:"At once",graceHelp:"Until then both keys work.",endsIn:t=>`ends in ${t}`,revoke:"Revoke",revokeTitle:"Revoke API key",revokeIntro:"Every request with this key is refused at once. This cannot be undone.",alsoEndpoints:"Also disable its endpoints",alsoEndpointsHelp:"Webhook endpoints that the key made or set. If not, they go on getting events.",alsoLinks:"Also revoke its links",alsoLinksHelp:"Pending links that the key made. If not, they can still be claimed.",endMade:"End what it made",endMadeIntro:"The key is refused already. What it made goes on until you end it.",endEndpoints:"Disable its endpoints",endEndpointsHelp:"Webhook endpoints that the key made or set.",endLinks:"Revoke its links",endLinksHelp:"Pending links that the key made.",noneTicked:"Tick what to end, or cancel.",endpointsEnded:"Its endpoints are disabled; an admin can enable them.",linksEnded:"Its pending links can no longer be claimed; the list shows it within minutes.",keyRevoked:"The key is revoked.",endpointsStay:"Endpoints that it made or set are as they were.",linksStay:"Links that it made can still be claimed."},usage:{title:"Requests in the last 30 days (UTC)",requests:"Requests",atMost:"At most",day:"Day",limit:t=>`Limit of ${t} a day`,life:"Life of the key",now:"now",none:"No requests were counted for this key in the last 30 days. The requests of a key without limits are counted only if the deployment counts all keys.",together:"If the org has an allowance, it is counted for all its keys together; its admins see how much is used.",ofOrg:(t,e,n)=>`All keys of the org share an allowance of ${t}. Counted for the org as a whole: ${e} requests today, ${n} this month (UTC).`,asWhole:"This key has no limits: its requests are counted for the whole org.",month:"Use in this month",byDay:"Requests by day (UTC)",today:(t,e)=>`${t} of ${e} today, resets at 00:00 UTC`,ofMonth:(t,e)=>`${t} of ${e} this month, resets on the first of the next month at 00:00 UTC`,refused:"Refused requests",why:"At least, and why",refusedAbout:"Requests with the right text of this key, or of a key that it replaced. The newest may be missing.",org:"Use",orgAbout:"The requests of the API keys of this org.",byKey:"Requests by API key in this month (UTC)",nothing:"Nothing is counted",nothingAbout:"There were no requests in this month, or neither the org nor its keys have a limit.",from:(t,e)=>`${t} to ${e}`,atLeast:t=>`at least ${t}`},chart:{table:"Show as a table",above:"above the chart"},catalogue:{other:"Others",strange:"Not in the catalogue",unsent:"Nothing sends this type",every:"Every type of event",type:"Type",example:"Send example",exampleShort:"Example",exampleIntro:'The endpoint gets an event of this type with "test": true, so that your receiver can ignore it.'},links:{title:"Links",about:"Invitations that your server made, each for one device of a user.",user:"User",device:"Device",expires:"Expires",ended:"Claimed or revoked",none:"No links yet",noneAbout:"Your server makes one with an API key of this app:",revoke:"Revoke link",revokeShort:"Revoke",revokeIntro:"It can no longer be claimed.",revoked:"The link is revoked."},endpoints:{title:"Webhook endpoints",one:"Webhook endpoint",about:"Where the events of this app are sent.",url:"URL",events:"Events",eventsHelp:"Types separated by spaces. * is every type; link.* is every type that begins with link.",description:"Description",create:"New endpoint",createIntro:"It gets each event as a signed POST. Verify the signature before you trust it.",created:"The endpoint is made.",none:"No webhook endpoints yet",noneAbout:"Register a URL of your server. It gets an event when links, keys and more change.",enabled:"enabled",disabled:"disabled",failing:"failing",since:"since",paused:"Paused until",reasons:{admin:"by an admin",user:"with an API key",gone:"it answered 410",failing:"it failed for 5 days"},test:"Send test event",testShort:"Test",tested:"A test event is on its way.",enable:"Enable endpoint",enableShort:"Enable",enableIntro:"Deliveries that are held go on.",disable:"Disable endpoint",disableShort:"Disable",disableIntro:"No new attempt begins. Deliveries are held until an admin enables the endpoint.",delete:"Delete endpoint",deleteIntro:"Waiting deliveries are cancelled. This cannot be undone.",deleted:"The endpoint is deleted.",held:"Held deliveries",createdBy:"Made by",setBy:"URL or events set by",admin:"an admin",last:"Last deliveries",hours:t=>`Deliveries of the last ${t} hours`,hour:"Hour",bounded:"There were more than 500: the bars show the newest of them.",quiet:t=>`No event of the last ${t} hours is for this endpoint.`},events:{title:"Events",one:"Event",about:"What happened in this app, kept for 30 days. An event is listed 10 seconds after it happened.",type:"Type",at:t=>`When (${t})`,payload:"Payload",since:"Since",every:"Every type",hour:"the last hour",day:"the last 24 hours",week:"the last 7 days",month:"the last 30 days",noneOfType:"No event in this time has this type.",older:"Older",noneYet:"None of the loaded events has this type.",hidden:"Only admins see the payload of this event.",none:"No events in this time",noneAbout:"Events appear when links are claimed, keys change, or an endpoint is tested."},deliveries:{title:"Deliveries",delivered:"Delivered",failed:"Failed",waiting:"Waiting",again:"Send again",allAgain:"Send failed again",allIntro:"Sends every failed delivery to one endpoint since a time once more.",attempts:t=>U(t,"attempt"),next:"next",at:"delivered",took:t=>`${t} ms`,noAttempt:"No attempt yet.",none:"No endpoint gets this event.",bounded:"Only the first deliveries are shown.",paused:"the endpoint is paused",every:"Every state",noneLike:"No delivery has this state.",noneYet:"None of the newest deliveries has this state. Older ones may.",nothing:"No deliveries in the last 30 days.",all:"All deliveries",retried:"Failed, to be tried again",queued:t=>t===0?"Nothing to send again.":`${t===1?"One delivery":`${t} deliveries`} will be sent again.`},audit:{title:"Audit log",about:"Who did what in this org. Entries are kept for 400 days.",what:"Action",who:"By",target:"Target",changes:"Changes",service:"service",holder:"someone with its text",source:"found at",every:"All",none:"No entries",noneAbout:"What members and keys do appears here.",noneSuch:"No matching entries",noneYet:"None of the newest entries matches. Older ones may.",targetId:"Target id",from:"From",to:"Until",actions:{"org.created":"Org made","org.updated":"Org changed","org.suspended":"Org suspended","org.resumed":"Org resumed","org.deleted":"Org deleted","user.stopped":"Person stopped","user.resumed":"Person no longer stopped","user.signed_out":"Person signed out","user.erased":"Person erased","member.added":"Member added","member.role_changed":"Role changed","member.removed":"Member removed","member.left":"Member left","key.created":"API key made","key.imported":"API key imported","key.updated":"API key changed","key.rotated":"API key rotated","key.revoked":"API key revoked","key.leaked":"API key leaked","key.links_revoked":"Links of an API key revoked","app.created":"App made","app.updated":"App changed","endpoint.created":"Endpoint made","endpoint.updated":"Endpoint changed","endpoint.deleted":"Endpoint deleted","endpoint.tested":"Endpoint tested","endpoint.redelivered":"Deliveries sent again","link.revoked":"Link revoked"},names:{expiresAt:"expires",revokedAt:"revoked",suspendedAt:"suspended",rotatedTo:"replaced by",appId:"app",externalId:"external id",keysBeginWith:"keys begin with",disabledReason:"disabled because"},types:{user:"user",api_key:"API key",org:"org",key:"API key",app:"app",link:"link",endpoint:"endpoint"}},verify:{title:"Verify a webhook",about:"See what a receiver checks. Of what you paste, only the kid leaves this page, to fetch its public key.",pasted:"Webhook",pastedHelp:"Its body, or the whole request with its headers.",endpoint:"Endpoint id",endpointHelp:"The id of your endpoint: whe_… A receiver must compare it.",issuer:"Issuer",issuerHelp:"Usually the base URL of the API.",button:"Verify",result:"Result",why:"What was seen",check:"Check",key:"Public key",event:"Event",code:"A receiver",codeAbout:"Each of these receivers makes these checks.",good:"This webhook is genuine.",bad:"A receiver refuses this webhook.",old:"This webhook was genuine when it was sent. A receiver refuses it now, because an attacker could have sent it again.",open:"Every check so far passed. Enter the endpoint id and the issuer to make the other checks.",results:{passed:"passed",failed:"failed",open:"not tried"},checks:{form:"Form",header:"Header",key:"Key",signature:"Signature",audience:"Audience",issuer:"Issuer",times:"Times",event:"Event"},says:{form:"It has three parts in base64url, and its objects are JSON.",tooLong:"It is longer than 256 KB.",parts:t=>`It has ${U(t,"part")} between its dots; a webhook has three.`,notBase64:"A part is not base64url (RFC 4648), or not in its only valid form.",noJson:"A part is not JSON in UTF-8.",noObject:"A part is JSON, but not an object.",twice:"An object has the same member twice.",header:"alg is ES256, typ is webhook+jwt, and there is no crit.",alg:t=>`alg is ${t}, not "ES256".`,typ:t=>`typ is ${t}, not "webhook+jwt".`,crit:"The header has crit: it may require an extension that the receiver does not know.",kid:"kid is not the base64url of 32 bytes.",key:"The key is known, and was not retired when this was signed.",unknownKey:"No key has this kid.",revokedKey:"The key was revoked: do not trust what it signed.",retiredKey:"The key had been retired when this was signed.",noKey:"The API returned no usable public key for it.",noAnswer:t=>`The key cannot be looked up now (${t}).`,signature:"The key signed exactly these bytes.",notSigned:"The key did not sign these bytes.",notTried:"It was not tried, because an earlier check failed.",audience:"It is for your endpoint.",anyAudience:t=>`It is for ${t}. Is this your endpoint?`,otherAudience:t=>`aud is ${t}, not your endpoint.`,issuer:"It is from your issuer.",anyIssuer:t=>`It is from ${t}.`,otherIssuer:t=>`iss is ${t}, not your issuer.`,times:"It was signed in the last five minutes, and has not expired.",noTime:"iat or exp is not a whole number of seconds.",notYet:t=>`It was signed in the future: ${t}.`,tooOld:t=>`It was signed at ${t}, more than five minutes ago.`,event:"The event has an id, a type, a time and data.",noEvent:"There is no event.",noMember:t=>`The event has no ${t}.`,missing:"missing"}}};var We=class extends w{constructor(){super(...arguments);this.appId=""}static{this.properties={person:{attribute:!1},org:{attribute:!1},appId:{attribute:!1}}}createRenderRoot(){return this}firstUpdated(){!S.isEmbedded&&!document.querySelector("lk-dialog")&&this.querySelector("h1")?.focus({preventScroll:!0})}get api(){return this.person.api}get isAdmin(){return this.org.role==="admin"}get path(){return`orgs/${encodeURIComponent(this.org.id)}`}get appPath(){return`${this.path}/apps/${encodeURIComponent(this.appId)}`}},vt=/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,le=t=>t.replace(vt,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,"0")}`);var he=t=>le(JSON.stringify(t,null,2)),An=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"short"}),_n=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"medium"}),Tn=new Intl.NumberFormat("en-GB");var En=p`<span class="faint">${y.none}</span>`;function wt(t){let e=Math.max(0,Math.ceil((t-Date.now())/1e3)),n=[[86400,"d"],[3600,"h"],[60,"min"],[1,"s"]],s=n.findIndex(([c])=>e>=c);if(s<0)return"0 s";let[i,o]=[n[s],n[s+1]],r=o?Math.floor(e%i[0]/o[0]):0;return`${Math.floor(e/i[0])} ${i[1]}${o&&r?` ${r} ${o[1]}`:""}`}var de=class extends w{constructor(){super(...arguments);this.until=0;this.#e=0}static{this.properties={until:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=window.setInterval(()=>this.requestUpdate(),1e3)}disconnectedCallback(){super.disconnectedCallback(),clearInterval(this.#e)}render(){return y.keys.endsIn(wt(this.until))}};customElements.define("lk-left",de);var $t={active:"good",enabled:"good",delivered:"good",claimed:"good",pending:"wait",held:"wait",replaced:"wait",failed:"bad",revoked:"bad",disabled:"bad",admin:"accent",service:"accent"},ce=(t,e=$t[t]??"quiet")=>p`<span class="badge ${e}">${t}</span>`;function Ve(t,e,n){return p`
    <div class="scroll card" role="region" tabindex="0" aria-label=${t}>
      <table role="table" aria-label=${t}>
        <thead role="rowgroup"><tr role="row">
          ${e.map(s=>p`<th role="columnheader" scope="col" class=${s.kind??""}>${s.kind==="actions"?p`<span class="sr">${s.label}</span>`:s.label}</th>`)}
        </tr></thead>
        <tbody role="rowgroup">${n.map(s=>p`
          <tr role="row">${e.map(i=>p`
            <td role="cell" class=${i.kind??""} data-label=${i.kind?"":i.label}>${i.cell(s)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`}var Fe=(t,e,n=h)=>p`
  <div class="head">
    <div>${S.isEmbedded?p`<h2 class="title">${t}</h2>`:p`<h1 tabindex="-1">${t}</h1>`}<p>${e}</p></div>
    <div class="actions">${n}</div>
  </div>`;function Ye(t,e=y.copy,n=""){return p`<button type="button" class=${n} @click=${async i=>{let o=i.currentTarget;try{await navigator.clipboard.writeText(t)}catch{return Ke(y.notCopied)}Ke(y.copied),o.classList.add("done"),setTimeout(()=>o.classList.remove("done"),1500)}}>${Je("copy")}${e}</button>`}function Ke(t){window.dispatchEvent(new CustomEvent("lk-announce",{detail:t}))}var At={org:g`<path d="M4 21V5l8-2v18M12 9l8 2v10M2 21h20M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17v.01"/>`,members:g`<circle cx="9" cy="8" r="3.5"/>
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5"/>`,keys:g`<circle cx="8" cy="16" r="4.5"/><path d="m11.2 12.8 8.3-8.3M16 8l3.5 3.5"/>`,links:g`<path d="M10 14a4.5 4.5 0 0 0 6.5 0l3-3A4.6 4.6 0 0 0 13 4.5l-1 1M14 10a4.5 4.5 0 0 0-6.5 0l-3 3A4.6 4.6 0 0 0 11 19.5l1-1"/>`,endpoints:g`<path d="M3 12h6M15 12h6"/><circle cx="12" cy="12" r="3"/><path d="M18 9l3 3-3 3"/>`,events:g`<path d="M3 12h4l3-8 4 16 3-8h4"/>`,audit:g`<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7"/>`,reference:g`<path d="M12 6.5C10 5 7 4.5 3 4.5v14c4 0 7 .5 9 2 2-1.5 5-2 9-2v-14c-4 0-7 .5-9 2zM12 6.5v14"/>`,verify:g`<path d="M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8.5 12l2.5 2.5 4.5-5"/>`,close:g`<path d="M6 6l12 12M18 6 6 18"/>`,copy:g`<rect x="9" y="9" width="11" height="11" rx="2"/>
    <path d="M15 5.5V5a1.5 1.5 0 0 0-1.5-1.5h-8A1.5 1.5 0 0 0 4 5v8a1.5 1.5 0 0 0 1.5 1.5H6"/>`,empty:g`<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5"/>`},Je=t=>p`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${At[t]}</svg>`;var _t=(t,e)=>p`
  <div class="field">
    <label for="f-${t.name}">${t.label}</label>
    ${e}
    ${t.help?p`<p class="help" id="h-${t.name}">${t.help}</p>`:h}
  </div>`,Tt=t=>t.help?`h-${t.name}`:h,ue=t=>_t(t,p`
  <input id="f-${t.name}" @input=${e=>t.typed?.(e.target.value)} name=${t.name} type=${t.type??"text"} .defaultValue=${t.value??""} ?required=${t.required}
    maxlength=${t.max??h} pattern=${t.pattern??h} placeholder=${t.placeholder??h}
    autocomplete="off" spellcheck="false" aria-describedby=${Tt(t)}
    @change=${e=>t.change?.(e.target.value)}>`);var pe=(t,e)=>String(t.get(e)??"").trim();var d=y.verify.says,Et=256*1024,xt=300,Ge=60,me=t=>typeof t=="object"&&t!==null&&!Array.isArray(t),q=t=>typeof t=="string"&&t!=="",Y=t=>Number.isSafeInteger(t)&&t>0;function Qe(t){let e=t.trim(),n=e.search(/\r?\n\r?\n/);return(n<0?e:e.slice(n)).trim()}function ye(t){let e="";try{e=atob(t.replaceAll("-","+").replaceAll("_","/"))}catch{}if(btoa(e).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")!==t)throw new Error(d.notBase64);return Uint8Array.from(e,n=>n.charCodeAt(0))}function ze(t){let e=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}).decode(ye(t)),n=-1,s=JSON.parse(e,function(o,r){return Array.isArray(this)||n++,r}),i=e.replace(/"(?:[^"\\]|\\.)*"/g,"").split(":").length-1;if(!me(s))throw new Error(d.noObject);if(n!==i)throw new Error(d.twice);return s}async function Ze(t,e,n){let s=[],i=(k,N,J,G=!1)=>s.push({name:k,result:N!==null?"failed":G?"open":"passed",why:N??J}),o=y.verify.checks,r=t.split("."),[c,a,m]=[{},{},null],u=null;try{if(t.length>Et)throw new Error(d.tooLong);if(r.length!==3)throw new Error(d.parts(r.length));c=ze(r[0]),a=ze(r[1]),m=ye(r[2])}catch(k){u=k instanceof SyntaxError||k instanceof TypeError?d.noJson:k.message}if(i(o.form,u,d.form),u!==null)return{checks:s,isOld:!1,key:null,event:null};u=St(c),i(o.header,u,d.header);let l=null,f=null;if(u===null){let k=await n(c.kid);k.ok&&(l=await k.json().catch(()=>null),f=await It(l).catch(()=>null));let{iat:N}=a,J=l?.expiredAt&&Y(N)&&N*1e3>=l.expiredAt,G={200:d.noKey,404:d.unknownKey,410:d.revokedKey};i(o.key,f?J?d.retiredKey:null:G[k.status]??d.noAnswer(k.status),d.key)}else i(o.key,null,d.notTried,!0);if(f){let k=await Pt(f,m,`${r[0]}.${r[1]}`);i(o.signature,k?null:d.notSigned,d.signature)}else i(o.signature,null,d.notTried,!0);let b=Array.isArray(a.aud)&&a.aud.length===1?a.aud[0]:a.aud,I=!q(b)||e.endpointId&&b!==e.endpointId;i(o.audience,I?d.otherAudience(O(a.aud)):null,e.endpointId?d.audience:d.anyAudience(O(b)),!e.endpointId);let et=!q(a.iss)||e.issuer&&a.iss!==e.issuer;i(o.issuer,et?d.otherIssuer(O(a.iss)):null,e.issuer?d.issuer:d.anyIssuer(O(a.iss)),!e.issuer);let ge=Xe(a,e.now/1e3);i(o.times,ge,d.times);let{event:be}=a;i(o.event,Rt(be),d.event);let tt=Number(a.iat)<e.now/1e3;return{checks:s,isOld:ge!==null&&tt&&Xe(a,Number(a.iat))===null,key:l,event:be??null}}var O=t=>t===void 0?d.missing:JSON.stringify(t);function St(t){if(t.alg!=="ES256")return d.alg(O(t.alg));if(t.typ!=="webhook+jwt")return d.typ(O(t.typ));if("crit"in t)return d.crit;try{if(q(t.kid)&&ye(t.kid).length===32)return null}catch{}return d.kid}async function It(t){let e={name:"ECDSA",namedCurve:"P-256"};return crypto.subtle.importKey("jwk",{kty:t?.kty,crv:t?.crv,x:t?.x,y:t?.y},e,!1,["verify"])}async function Pt(t,e,n){return crypto.subtle.verify({name:"ECDSA",hash:"SHA-256"},t,e,new TextEncoder().encode(n))}function Xe({iat:t,exp:e},n){if(!Y(t)||!Y(e)||t>864e10)return d.noTime;let s=new Date(t*1e3).toISOString();return t>=n+Ge?d.notYet(s):n>=e||n-t>=xt+Ge?d.tooOld(s):null}function Rt(t){if(!me(t))return d.noEvent;let e=q(t.id)?q(t.type)?Y(t.createdAt)?me(t.data)?"":"data":"createdAt":"type":"id";return e?d.noMember(e):null}var Ut=`package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"example.com/acme/latchkey/pkg/verify" // the path of your copy of Latchkey
)

func main() {
	v, err := verify.New(verify.Config{BaseURL: os.Getenv("BASE_URL"), Issuer: os.Getenv("ISSUER"), EndpointID: os.Getenv("ENDPOINT_ID")})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/", v.Handler(func(_ context.Context, e verify.Event) error {
		if e.Test {
			return nil // an example event; nothing happened
		}
		log.Print(e.ID, " ", e.Type) // the same event can come again, with the same id
		return nil
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:4000", nil))
}
`,fe=class extends w{#e=!1;#n=0;#t=null;createRenderRoot(){return this.replaceChildren(),this}async#s(e){e.preventDefault();let n=++this.#n;this.#e=!0,this.#t=null,this.requestUpdate();let s=new FormData(e.target),i={endpointId:pe(s,"endpointId"),issuer:pe(s,"issuer"),now:Date.now()},o=c=>fetch(new URL(`webhook_verification_key/${c}`,S.base),{credentials:"omit",redirect:"error"}).catch(()=>new Response(null,{status:503})),r=await Ze(Qe(String(s.get("pasted"))),i,o);n===this.#n&&(this.#t=r,this.#e=!1,this.requestUpdate())}render(){let e=y.verify;return p`
      <main class="pages plain-page">
        ${Fe(e.title,e.about)}
        <form class="card padded" @submit=${this.#s}>
          <div class="field">
            <label for="f-pasted">${e.pasted}</label>
            <textarea id="f-pasted" name="pasted" rows="8" required spellcheck="false" aria-describedby="h-pasted"></textarea>
            <p class="help" id="h-pasted">${e.pastedHelp}</p>
          </div>
          <div class="two">
            ${ue({label:e.endpoint,name:"endpointId",help:e.endpointHelp,placeholder:"whe_…"})}
            ${ue({label:e.issuer,name:"issuer",help:e.issuerHelp,placeholder:"https://api.example.com"})}
          </div>
          <button class="primary">${e.button}</button>
        </form>
        <section role="status" aria-busy=${String(this.#e)}>
          ${this.#t?this.#i(this.#t,Ot(this.#t)):h}
        </section>
        <section>
          <h2>${e.code}</h2>
          <p class="small">${e.codeAbout}</p>
          ${[["Go",Ut],["Node: verify.mjs",De],["Node: receiver.mjs",He],["Python: verify.py",Be],["Python: receiver.py",qe],["FastAPI: receiver_fastapi.py",je]].map(([n,s])=>p`
            <details class="code"><summary>${n}</summary>${Ye(s)}<pre tabindex="0">${s}</pre></details>`)}
        </section>
        <footer class="powered">${y.powered}</footer>
      </main>`}#i({checks:e,key:n,event:s},i){let o=y.verify;return p`
      <h2>${ce(i.label,i.tone)}</h2>
      ${Ve(o.result,[{label:o.check,kind:"main",cell:r=>r.name},{label:o.result,cell:r=>ce(o.results[r.result],{passed:"good",failed:"bad",open:"quiet"}[r.result])},{label:o.why,cell:r=>le(r.why)}],e)}
      ${n?p`<h3>${o.key}</h3><pre tabindex="0">${he(n)}</pre>`:h}
      ${s?p`<h3>${o.event}</h3><pre class="payload" tabindex="0">${he(s)}</pre>`:h}`}};customElements.define("lk-verify",fe);function Ot({checks:t,isOld:e}){let n=t.filter(i=>i.result==="failed"),s=t.some(i=>i.result==="open");return e&&n.length===1&&!s?{label:y.verify.old,tone:"wait"}:n.length>0?{label:y.verify.bad,tone:"bad"}:s?{label:y.verify.open,tone:"accent"}:{label:y.verify.good,tone:"good"}}S.base=new URL("..",location.href);
/*! Bundled license information:

@lit/reactive-element/css-tag.js:
  (**
   * @license
   * Copyright 2019 Google LLC
   * SPDX-License-Identifier: BSD-3-Clause
   *)

@lit/reactive-element/reactive-element.js:
lit-html/lit-html.js:
lit-element/lit-element.js:
  (**
   * @license
   * Copyright 2017 Google LLC
   * SPDX-License-Identifier: BSD-3-Clause
   *)

lit-html/is-server.js:
  (**
   * @license
   * Copyright 2022 Google LLC
   * SPDX-License-Identifier: BSD-3-Clause
   *)
*/
