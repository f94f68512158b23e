var ye=globalThis,be=ye.ShadowRoot&&(ye.ShadyCSS===void 0||ye.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,He=Symbol(),ft=new WeakMap,ae=class{constructor(e,t,i){if(this._$cssResult$=!0,i!==He)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,t=this.t;if(be&&e===void 0){let i=t!==void 0&&t.length===1;i&&(e=ft.get(t)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),i&&ft.set(t,e))}return e}toString(){return this.cssText}},ve=n=>new ae(typeof n=="string"?n:n+"",void 0,He),qe=(n,...e)=>{let t=n.length===1?n[0]:e.reduce((i,r,o)=>i+(l=>{if(l._$cssResult$===!0)return l.cssText;if(typeof l=="number")return l;throw Error("Value passed to 'css' function must be a 'css' function result: "+l+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(r)+n[o+1],n[0]);return new ae(t,n,He)},$e=(n,e)=>{if(be)n.adoptedStyleSheets=e.map(t=>t instanceof CSSStyleSheet?t:t.styleSheet);else for(let t of e){let i=document.createElement("style"),r=ye.litNonce;r!==void 0&&i.setAttribute("nonce",r),i.textContent=t.cssText,n.appendChild(i)}},Be=be?n=>n:n=>n instanceof CSSStyleSheet?(e=>{let t="";for(let i of e.cssRules)t+=i.cssText;return ve(t)})(n):n;var{is:rn,defineProperty:on,getOwnPropertyDescriptor:an,getOwnPropertyNames:ln,getOwnPropertySymbols:dn,getPrototypeOf:cn}=Object,we=globalThis,yt=we.trustedTypes,pn=yt?yt.emptyScript:"",hn=we.reactiveElementPolyfillSupport,le=(n,e)=>n,ze={toAttribute(n,e){switch(e){case Boolean:n=n?pn:null;break;case Object:case Array:n=n==null?n:JSON.stringify(n)}return n},fromAttribute(n,e){let t=n;switch(e){case Boolean:t=n!==null;break;case Number:t=n===null?null:Number(n);break;case Object:case Array:try{t=JSON.parse(n)}catch{t=null}}return t}},vt=(n,e)=>!rn(n,e),bt={attribute:!0,type:String,converter:ze,reflect:!1,useDefault:!1,hasChanged:vt};Symbol.metadata??=Symbol("metadata"),we.litPropertyMetadata??=new WeakMap;var R=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=bt){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let i=Symbol(),r=this.getPropertyDescriptor(e,i,t);r!==void 0&&on(this.prototype,e,r)}}static getPropertyDescriptor(e,t,i){let{get:r,set:o}=an(this.prototype,e)??{get(){return this[t]},set(l){this[t]=l}};return{get:r,set(l){let h=r?.call(this);o?.call(this,l),this.requestUpdate(e,h,i)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??bt}static _$Ei(){if(this.hasOwnProperty(le("elementProperties")))return;let e=cn(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(le("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(le("properties"))){let t=this.properties,i=[...ln(t),...dn(t)];for(let r of i)this.createProperty(r,t[r])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[i,r]of t)this.elementProperties.set(i,r)}this._$Eh=new Map;for(let[t,i]of this.elementProperties){let r=this._$Eu(t,i);r!==void 0&&this._$Eh.set(r,t)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let i=new Set(e.flat(1/0).reverse());for(let r of i)t.unshift(Be(r))}else e!==void 0&&t.push(Be(e));return t}static _$Eu(e,t){let i=t.attribute;return i===!1?void 0:typeof i=="string"?i:typeof e=="string"?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let i of t.keys())this.hasOwnProperty(i)&&(e.set(i,this[i]),delete this[i]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return $e(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,i){this._$AK(e,i)}_$ET(e,t){let i=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,i);if(r!==void 0&&i.reflect===!0){let o=(i.converter?.toAttribute!==void 0?i.converter:ze).toAttribute(t,i.type);this._$Em=e,o==null?this.removeAttribute(r):this.setAttribute(r,o),this._$Em=null}}_$AK(e,t){let i=this.constructor,r=i._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let o=i.getPropertyOptions(r),l=typeof o.converter=="function"?{fromAttribute:o.converter}:o.converter?.fromAttribute!==void 0?o.converter:ze;this._$Em=r;let h=l.fromAttribute(t,o.type);this[r]=h??this._$Ej?.get(r)??h,this._$Em=null}}requestUpdate(e,t,i,r=!1,o){if(e!==void 0){let l=this.constructor;if(r===!1&&(o=this[e]),i??=l.getPropertyOptions(e),!((i.hasChanged??vt)(o,t)||i.useDefault&&i.reflect&&o===this._$Ej?.get(e)&&!this.hasAttribute(l._$Eu(e,i))))return;this.C(e,t,i)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(e,t,{useDefault:i,reflect:r,wrapped:o},l){i&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,l??t??this[e]),o!==!0||l!==void 0)||(this._$AL.has(e)||(this.hasUpdated||i||(t=void 0),this._$AL.set(e,t)),r===!0&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(t){Promise.reject(t)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[r,o]of this._$Ep)this[r]=o;this._$Ep=void 0}let i=this.constructor.elementProperties;if(i.size>0)for(let[r,o]of i){let{wrapped:l}=o,h=this[r];l!==!0||this._$AL.has(r)||h===void 0||this.C(r,void 0,o,h)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(i=>i.hostUpdate?.()),this.update(t)):this._$EM()}catch(i){throw e=!1,this._$EM(),i}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(t=>t.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(t=>this._$ET(t,this[t])),this._$EM()}updated(e){}firstUpdated(e){}};R.elementStyles=[],R.shadowRootOptions={mode:"open"},R[le("elementProperties")]=new Map,R[le("finalized")]=new Map,hn?.({ReactiveElement:R}),(we.reactiveElementVersions??=[]).push("2.1.2");var je=globalThis,$t=n=>n,ke=je.trustedTypes,wt=ke?ke.createPolicy("lit-html",{createHTML:n=>n}):void 0,Fe="$lit$",N=`lit$${Math.random().toFixed(9).slice(2)}$`,We="?"+N,mn=`<${We}>`,V=document,ce=()=>V.createComment(""),pe=n=>n===null||typeof n!="object"&&typeof n!="function",Ve=Array.isArray,Tt=n=>Ve(n)||typeof n?.[Symbol.iterator]=="function",Ke=`[ 	
\f\r]`,de=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,kt=/-->/g,xt=/>/g,F=RegExp(`>|${Ke}(?:([^\\s"'>=/]+)(${Ke}*=${Ke}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),At=/'/g,_t=/"/g,St=/^(?:script|style|textarea|title)$/i,Ye=n=>(e,...t)=>({_$litType$:n,strings:e,values:t}),a=Ye(1),v=Ye(2),Xn=Ye(3),Y=Symbol.for("lit-noChange"),d=Symbol.for("lit-nothing"),Et=new WeakMap,W=V.createTreeWalker(V,129);function Pt(n,e){if(!Ve(n)||!n.hasOwnProperty("raw"))throw Error("invalid template strings array");return wt!==void 0?wt.createHTML(e):e}var It=(n,e)=>{let t=n.length-1,i=[],r,o=e===2?"<svg>":e===3?"<math>":"",l=de;for(let h=0;h<t;h++){let c=n[h],u,m,p=-1,g=0;for(;g<c.length&&(l.lastIndex=g,m=l.exec(c),m!==null);)g=l.lastIndex,l===de?m[1]==="!--"?l=kt:m[1]!==void 0?l=xt:m[2]!==void 0?(St.test(m[2])&&(r=RegExp("</"+m[2],"g")),l=F):m[3]!==void 0&&(l=F):l===F?m[0]===">"?(l=r??de,p=-1):m[1]===void 0?p=-2:(p=l.lastIndex-m[2].length,u=m[1],l=m[3]===void 0?F:m[3]==='"'?_t:At):l===_t||l===At?l=F:l===kt||l===xt?l=de:(l=F,r=void 0);let A=l===F&&n[h+1].startsWith("/>")?" ":"";o+=l===de?c+mn:p>=0?(i.push(u),c.slice(0,p)+Fe+c.slice(p)+N+A):c+N+(p===-2?h:A)}return[Pt(n,o+(n[t]||"<?>")+(e===2?"</svg>":e===3?"</math>":"")),i]},he=class n{constructor({strings:e,_$litType$:t},i){let r;this.parts=[];let o=0,l=0,h=e.length-1,c=this.parts,[u,m]=It(e,t);if(this.el=n.createElement(u,i),W.currentNode=this.el.content,t===2||t===3){let p=this.el.content.firstChild;p.replaceWith(...p.childNodes)}for(;(r=W.nextNode())!==null&&c.length<h;){if(r.nodeType===1){if(r.hasAttributes())for(let p of r.getAttributeNames())if(p.endsWith(Fe)){let g=m[l++],A=r.getAttribute(p).split(N),T=/([.?@])?(.*)/.exec(g);c.push({type:1,index:o,name:T[2],strings:A,ctor:T[1]==="."?Ae:T[1]==="?"?_e:T[1]==="@"?Ee:G}),r.removeAttribute(p)}else p.startsWith(N)&&(c.push({type:6,index:o}),r.removeAttribute(p));if(St.test(r.tagName)){let p=r.textContent.split(N),g=p.length-1;if(g>0){r.textContent=ke?ke.emptyScript:"";for(let A=0;A<g;A++)r.append(p[A],ce()),W.nextNode(),c.push({type:2,index:++o});r.append(p[g],ce())}}}else if(r.nodeType===8)if(r.data===We)c.push({type:2,index:o});else{let p=-1;for(;(p=r.data.indexOf(N,p+1))!==-1;)c.push({type:7,index:o}),p+=N.length-1}o++}}static createElement(e,t){let i=V.createElement("template");return i.innerHTML=e,i}};function J(n,e,t=n,i){if(e===Y)return e;let r=i!==void 0?t._$Co?.[i]:t._$Cl,o=pe(e)?void 0:e._$litDirective$;return r?.constructor!==o&&(r?._$AO?.(!1),o===void 0?r=void 0:(r=new o(n),r._$AT(n,t,i)),i!==void 0?(t._$Co??=[])[i]=r:t._$Cl=r),r!==void 0&&(e=J(n,r._$AS(n,e.values),r,i)),e}var xe=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:i}=this._$AD,r=(e?.creationScope??V).importNode(t,!0);W.currentNode=r;let o=W.nextNode(),l=0,h=0,c=i[0];for(;c!==void 0;){if(l===c.index){let u;c.type===2?u=new Z(o,o.nextSibling,this,e):c.type===1?u=new c.ctor(o,c.name,c.strings,this,e):c.type===6&&(u=new Te(o,this,e)),this._$AV.push(u),c=i[++h]}l!==c?.index&&(o=W.nextNode(),l++)}return W.currentNode=V,r}p(e){let t=0;for(let i of this._$AV)i!==void 0&&(i.strings!==void 0?(i._$AI(e,i,t),t+=i.strings.length-2):i._$AI(e[t])),t++}},Z=class n{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,i,r){this.type=2,this._$AH=d,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=i,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=J(this,e,t),pe(e)?e===d||e==null||e===""?(this._$AH!==d&&this._$AR(),this._$AH=d):e!==this._$AH&&e!==Y&&this._(e):e._$litType$!==void 0?this.$(e):e.nodeType!==void 0?this.T(e):Tt(e)?this.k(e):this._(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==d&&pe(this._$AH)?this._$AA.nextSibling.data=e:this.T(V.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:i}=e,r=typeof i=="number"?this._$AC(e):(i.el===void 0&&(i.el=he.createElement(Pt(i.h,i.h[0]),this.options)),i);if(this._$AH?._$AD===r)this._$AH.p(t);else{let o=new xe(r,this),l=o.u(this.options);o.p(t),this.T(l),this._$AH=o}}_$AC(e){let t=Et.get(e.strings);return t===void 0&&Et.set(e.strings,t=new he(e)),t}k(e){Ve(this._$AH)||(this._$AH=[],this._$AR());let t=this._$AH,i,r=0;for(let o of e)r===t.length?t.push(i=new n(this.O(ce()),this.O(ce()),this,this.options)):i=t[r],i._$AI(o),r++;r<t.length&&(this._$AR(i&&i._$AB.nextSibling,r),t.length=r)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let i=$t(e).nextSibling;$t(e).remove(),e=i}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},G=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,i,r,o){this.type=1,this._$AH=d,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=o,i.length>2||i[0]!==""||i[1]!==""?(this._$AH=Array(i.length-1).fill(new String),this.strings=i):this._$AH=d}_$AI(e,t=this,i,r){let o=this.strings,l=!1;if(o===void 0)e=J(this,e,t,0),l=!pe(e)||e!==this._$AH&&e!==Y,l&&(this._$AH=e);else{let h=e,c,u;for(e=o[0],c=0;c<o.length-1;c++)u=J(this,h[i+c],t,c),u===Y&&(u=this._$AH[c]),l||=!pe(u)||u!==this._$AH[c],u===d?e=d:e!==d&&(e+=(u??"")+o[c+1]),this._$AH[c]=u}l&&!r&&this.j(e)}j(e){e===d?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??"")}},Ae=class extends G{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===d?void 0:e}},_e=class extends G{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==d)}},Ee=class extends G{constructor(e,t,i,r,o){super(e,t,i,r,o),this.type=5}_$AI(e,t=this){if((e=J(this,e,t,0)??d)===Y)return;let i=this._$AH,r=e===d&&i!==d||e.capture!==i.capture||e.once!==i.once||e.passive!==i.passive,o=e!==d&&(i===d||r);r&&this.element.removeEventListener(this.name,this,i),o&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},Te=class{constructor(e,t,i){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=i}get _$AU(){return this._$AM._$AU}_$AI(e){J(this,e)}},Ct={M:Fe,P:N,A:We,C:1,L:It,R:xe,D:Tt,V:J,I:Z,H:G,N:_e,U:Ee,B:Ae,F:Te},un=je.litHtmlPolyfillSupport;un?.(he,Z),(je.litHtmlVersions??=[]).push("3.3.3");var Ut=(n,e,t)=>{let i=t?.renderBefore??e,r=i._$litPart$;if(r===void 0){let o=t?.renderBefore??null;i._$litPart$=r=new Z(e.insertBefore(ce(),o),o,void 0,t??{})}return r._$AI(n),r};var Je=globalThis,_=class extends R{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Ut(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return Y}};_._$litElement$=!0,_.finalized=!0,Je.litElementHydrateSupport?.({LitElement:_});var gn=Je.litElementPolyfillSupport;gn?.({LitElement:_});(Je.litElementVersions??=[]).push("4.2.2");var Ot=n=>(...e)=>({_$litDirective$:n,values:e}),Se=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,i){this._$Ct=e,this._$AM=t,this._$Ci=i}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}};var{I:mi}=Ct;var fn={},Mt=(n,e=fn)=>n._$AH=e;var Dt=Ot(class extends Se{constructor(){super(...arguments),this.key=d}render(n,e){return this.key=n,e}update(n,[e,t]){return e!==this.key&&(Mt(n),this.key=e),t}});var Rt=`/* The one stylesheet of the console. */
:root, :host {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #0e1014);
  --card: light-dark(#ffffff, #16191f);
  --raised: light-dark(#f1f3f7, #1e222a);
  --border: light-dark(#dfe3ea, #2a2f39);
  --strong-border: light-dark(#c3cad6, #3d4451);
  --text: light-dark(#171b24, #e7eaf0);
  --faint: light-dark(#5a6373, #9aa3b2);
  --accent: light-dark(#3d52d5, #93a4ff);
  --on-accent: light-dark(#ffffff, #10131f);
  --accent-soft: light-dark(#eaedfd, #232a4a);
  --good: light-dark(#15703f, #5fd08f);
  --good-soft: light-dark(#e1f4e8, #14301f);
  --wait: light-dark(#855400, #e5b454);
  --wait-soft: light-dark(#fcf0d7, #352a10);
  --bad: light-dark(#b3261e, #ff8f85);
  --bad-soft: light-dark(#fdeae8, #3b1a18);
  --shadow: 0 1px 2px light-dark(#1018280d, #0000);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
}

*, ::before, ::after { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text) }
h1, h2, h3, p, dl, dd, ul, ol, figure { margin: 0 }
h1, .title { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere }
h1:focus, dialog h2:focus { outline: none }
h2 { font-size: 1.0625rem; line-height: 1.35 }
h3 { margin: 1.5rem 0 .5rem; font-size: .9375rem }
a { color: var(--accent) }
code, pre { font: .8125rem/1.5 var(--mono) }
code { overflow-wrap: anywhere }
pre { margin: 0; padding: .75rem; overflow: auto; border-radius: 8px; background: var(--raised); white-space: pre-wrap;
  overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }

.faint, .sub, .help, .small { color: var(--faint) }
.sub, .help, .small { font-size: .8125rem }
.sub { display: block }
.sub code { font-size: .75rem }
.note { padding: .75rem 1rem; border-radius: 8px; background: var(--raised); color: var(--faint); font-size: .875rem }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.boot { padding: 4rem 1rem; text-align: center; color: var(--faint) }
.icon { flex: none; width: 1.125rem; height: 1.125rem; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round;
  stroke-linejoin: round }
.skip { position: fixed; top: -4rem; left: 1rem; z-index: 3; padding: .5rem 1rem; background: var(--card) }
.skip:focus { top: .5rem }

/* Buttons */
button, .button {
  display: inline-flex; align-items: center; justify-content: center; gap: .375rem; min-height: 2.125rem; padding: .25rem .8125rem;
  border: 1px solid var(--strong-border); border-radius: 8px; background: var(--card); color: var(--text); font: inherit;
  font-size: .875rem; font-weight: 550; text-decoration: none; white-space: nowrap; cursor: pointer; box-shadow: var(--shadow);
}
button:hover, .button:hover { background: var(--raised) }
button:disabled { opacity: .55; cursor: default }
button .icon { width: 1rem; height: 1rem }
.primary { border-color: transparent; background: var(--accent); color: var(--on-accent) }
.primary:hover { background: color-mix(in srgb, var(--accent) 88%, var(--text)) }
.danger { border-color: transparent; background: light-dark(#b3261e, #c4362d); color: #fff }
.danger:hover { background: light-dark(#96201a, #a82d25) }
.danger-text { color: var(--bad) }
.plain { border-color: transparent; background: none; box-shadow: none }
.link { min-height: 0; padding: 0; border: 0; background: none; box-shadow: none; color: var(--accent); font-size: inherit;
  font-weight: 600;
  text-align: start; white-space: normal; overflow-wrap: anywhere }
.link:hover { background: none; text-decoration: underline }
.small-button { min-height: 1.875rem; font-size: .8125rem }
.done { border-color: var(--good); color: var(--good) }
.primary.done { background: var(--good); color: var(--card) }
.more { display: flex; margin: 1rem auto }
lk-more { display: block }

/* Frame */
.top {
  position: sticky; top: 0; z-index: 2; display: flex; align-items: center; gap: 1rem; min-height: 3.5rem; padding: .5rem 1.5rem;
  border-bottom: 1px solid var(--border); background: var(--card);
}
.brand { display: inline-flex; align-items: center; gap: .625rem; color: var(--text); font-weight: 650; text-decoration: none }
.logo { width: 1.75rem; height: 1.75rem }
.logo rect { fill: var(--accent) }
.logo g { fill: none; stroke: var(--on-accent); stroke-width: 2.6; stroke-linecap: round; stroke-linejoin: round }
.org-choice { width: auto; min-width: 8rem; max-width: 16rem; text-overflow: ellipsis }
.person { display: flex; align-items: center; gap: .5rem; min-width: 0; margin-inline-start: auto; color: var(--faint); font-size: .875rem }
.person span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.body { display: grid; grid-template-columns: 14.5rem minmax(0, 1fr); max-width: 90rem; margin: 0 auto }
.body.wide { grid-template-columns: minmax(0, 1fr); max-width: 64rem }
.pages > * { display: block }
.pages { min-width: 0; padding: 2rem 2rem 4rem }
.menu { position: sticky; top: 3.5rem; align-self: start; display: grid; gap: .125rem; padding: 2rem 0 2rem 1.25rem }
.menu a { display: flex; align-items: center; gap: .625rem; padding: .4375rem .75rem; border-radius: 8px; color: var(--faint);
  font-size: .9rem; font-weight: 500; text-decoration: none; white-space: nowrap }
.menu a:hover { background: light-dark(#eceff4, #1a1e25); color: var(--text) }
.menu a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600 }
.pages section { margin-top: 1.75rem }
.card { border: 1px solid var(--border); border-radius: 12px; background: var(--card); box-shadow: var(--shadow) }
.padded { padding: 1.25rem 1.5rem }
.head { display: flex; flex-wrap: wrap; align-items: flex-start; justify-content: space-between; gap: 1rem; margin-bottom: 1.5rem }
.head > :first-child { flex: 1 1 18rem; min-width: 0 }
.head p { margin-top: .25rem; color: var(--faint) }
.head.lesser { margin-bottom: .875rem }
.head.lesser p { font-size: .875rem }
.actions, .row { display: flex; flex-wrap: wrap; gap: .5rem }
.head .actions:empty { display: none }
section + .note { margin-top: 1rem }
.note.alarm { margin-bottom: 1rem; border-inline-start: 3px solid var(--bad); color: var(--text) }
.app-choice { display: flex; align-items: center; justify-content: flex-end; gap: .625rem; margin-bottom: 1rem; font-size: .875rem }
.app-choice select { width: auto; max-width: 16rem }
.filters { display: flex; flex-wrap: wrap; gap: 1rem }
.filters .field { width: 13rem }
.danger-zone { display: grid; grid-template-columns: minmax(0, 1fr) auto; align-items: center; gap: 1.25rem 1.5rem }
.danger-zone p { margin-top: .125rem; color: var(--faint); font-size: .875rem }
.danger-zone button { min-width: 7.5rem }
.plain-page { max-width: 60rem; margin: 0 auto }
h2 > .badge { display: block; margin-bottom: 1rem; padding: .625rem 1rem; border-radius: 10px; font-size: .9375rem; white-space: normal }
.plain-page textarea { font: .8125rem/1.5 var(--mono) }
.code { margin-top: .5rem }
.code summary { cursor: pointer; font-weight: 600 }
.code button { margin: .5rem 0 }
.menu .aside { margin-top: 1rem }
.start { display: grid; place-items: center; min-height: 100vh; padding: 1rem }
.start > div { display: grid; justify-items: start; gap: 1rem; width: min(26rem, 100%); padding: 2rem }
.start p { color: var(--faint) }

/* Tables; cards on narrow screens */
.scroll { overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: .875rem }
th, td { padding: .75rem; text-align: start; vertical-align: middle; overflow-wrap: break-word }
th:first-child, td:first-child { padding-inline-start: 1.125rem }
th:last-child, td:last-child { padding-inline-end: 1.125rem }
td { min-width: 6rem }
td > code { font-size: .75rem; white-space: nowrap }
th { padding-block: .625rem; border-bottom: 1px solid var(--border); color: var(--faint); font-size: .8125rem; font-weight: 550;
  white-space: nowrap }
tbody tr + tr td { border-top: 1px solid var(--border) }
tbody tr:hover td { background: light-dark(#fafbfc, #191c23) }
tr:last-child td:first-child { border-end-start-radius: 12px }
tr:last-child td:last-child { border-end-end-radius: 12px }
td.main { min-width: 11rem; font-weight: 600; overflow-wrap: anywhere }
td.main .sub, td.main .badge { font-weight: 400 }
td.number { min-width: 0 }
td.number, th.number { text-align: end; font-variant-numeric: tabular-nums }
td.actions { white-space: nowrap; text-align: end }
td.actions, th.actions { display: table-cell }
td.actions button { min-height: 1.875rem; padding-inline: .625rem; font-size: .8125rem }
td.actions button + button { margin-inline-start: .25rem }
time, lk-left { white-space: nowrap }
td time { white-space: normal }
.chips { display: flex; flex-wrap: wrap; gap: .25rem; min-width: 7.5rem }
.chips code { padding: 0 .375rem; border: 1px solid var(--border); border-radius: 5px; background: var(--raised); font-size: .75rem }
.changes { display: grid; gap: .25rem; min-width: 12rem; padding: 0; list-style: none; font-size: .8125rem }
.changes code { font-size: .75rem }
.url { display: inline-block; min-width: 15rem; font: .8125rem/1.5 var(--mono) }
.badge { display: inline-block; padding: .0625rem .5rem; border-radius: 99px; background: var(--raised); color: var(--faint);
  font-size: .75rem; font-weight: 600; line-height: 1.5; white-space: nowrap }
.badge.good { background: var(--good-soft); color: var(--good) }
.badge.wait { background: var(--wait-soft); color: var(--wait) }
.badge.bad { background: var(--bad-soft); color: var(--bad) }
.badge.accent { background: var(--accent-soft); color: var(--accent) }

.empty { display: grid; justify-items: center; gap: .625rem; padding: 3rem 1.5rem; text-align: center }
.empty > .icon { width: 2.25rem; height: 2.25rem; color: var(--faint); stroke-width: 1.3 }
.empty p { max-width: 34rem; color: var(--faint) }
.empty .command { width: min(44rem, 100%); margin: .25rem 0 .5rem; text-align: start }
.command { display: flex; align-items: stretch; gap: .5rem }
.command pre { flex: 1; min-width: 0; padding-block: .4375rem }
.command button { align-self: flex-start }
.problem { margin-top: 1rem; padding: .875rem 1rem; border: 1px solid color-mix(in srgb, var(--bad) 35%, transparent); border-radius: 10px;
  background: var(--bad-soft); font-size: .875rem; overflow-wrap: anywhere }
.problem strong { color: var(--bad) }
.problem ul { margin: .375rem 0 0; padding-inline-start: 1.25rem }
.problem button { margin-top: .625rem }
.problem .small { margin-top: .25rem; color: inherit; opacity: .8 }
.start .problem { width: 100%; margin: 0 }
.start .problem p { color: inherit }
.skeleton { display: grid; gap: .75rem; padding: 1.25rem 0 }
.skeleton i { height: 2.75rem; border-radius: 10px; background: var(--raised); animation: breathe 1.4s ease-in-out infinite alternate }
.skeleton i:nth-of-type(2) { opacity: .7 }
.skeleton i:nth-of-type(3) { opacity: .4 }
@keyframes breathe { to { background: var(--border) } }
.said { position: fixed; inset: auto 1.25rem 1.25rem auto; z-index: 5; display: grid; gap: .5rem; max-width: min(26rem, 100vw - 2.5rem) }
.said p { padding: .75rem 1rem; border-radius: 10px; background: light-dark(#1b2130, #e7eaf0); color: light-dark(#fff, #14171d);
  font-size: .875rem; box-shadow: 0 8px 24px #0004 }
.facts { display: grid; gap: .75rem 2rem; font-size: .875rem }
.facts div { display: grid; grid-template-columns: minmax(7rem, 11rem) minmax(0, 1fr); gap: 1rem }
.facts dt { color: var(--faint) }
.facts dd { overflow-wrap: anywhere }

/* Forms */
input, select, textarea {
  width: 100%; min-height: 2.25rem; padding: .375rem .6875rem; border: 1px solid light-dark(#8b94a3, #596273); border-radius: 8px;
  background: var(--card); color: var(--text); font: inherit; font-size: .9rem;
}
input::placeholder, textarea::placeholder { color: var(--faint); opacity: .75 }
textarea { resize: vertical }
.field label, legend, .check label { display: block; margin-bottom: .25rem; font-size: .875rem; font-weight: 600 }
.help { margin-top: .25rem }
.field, fieldset, .check { margin: 0 0 1.125rem }
fieldset { min-width: 0; padding: 0; border: 0 }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); gap: 1rem }
.four { display: grid; grid-template-columns: repeat(4, 1fr); gap: .625rem }
.four .field { margin: 0 }
.four label { color: var(--faint); font-weight: 500 }
.pair { display: grid; grid-template-columns: 2fr 3fr auto; gap: .5rem; margin-bottom: .5rem }
.pair .plain { padding: 0 .5rem }
.check { display: grid; grid-template-columns: auto 1fr; gap: .625rem }
.check input { width: 1.0625rem; min-height: 0; height: 1.0625rem; margin: .1875rem 0 0; accent-color: var(--accent) }
.check label { margin: 0 }
.check .help { margin: 0 }

/* Dialogs */
dialog { padding: 0; border: 1px solid var(--border); background: var(--card); color: var(--text); box-shadow: 0 24px 64px #0005 }
dialog::backdrop { background: light-dark(#11182766, #000000a6) }
.modal { width: min(36rem, 100vw - 2rem); max-height: min(52rem, 100dvh - 2rem); border-radius: 14px }
.drawer { width: min(40rem, 100vw); height: 100dvh; max-width: none; max-height: none; margin: 0 0 0 auto; border-width: 0 0 0 1px }
.dialog-body { min-height: 100%; padding: 1.5rem }
.dialog-head { display: flex; align-items: center; justify-content: space-between; gap: 1rem; min-height: 2.125rem;
  margin-bottom: 1rem }
.dialog-head h2 { font-size: 1.1875rem }
.dialog-head button { margin-inline-end: -.5rem; padding: 0 .5rem }
dialog footer { display: flex; justify-content: flex-end; gap: .5rem; margin-top: 1.5rem }
.intro { margin-bottom: 1.25rem; color: var(--faint); overflow-wrap: anywhere }
.intro strong, .intro code { color: var(--text) }
.intro p + p { margin-top: .5rem }
.drawer .row { margin-bottom: 1.25rem }
.secret { margin-bottom: .75rem; padding: .875rem 1rem; border: 1px solid color-mix(in srgb, var(--accent) 40%, transparent);
  border-radius: 10px;
  background: var(--accent-soft); user-select: all }
.payload { max-height: 22rem }
.delivery { padding: .875rem 0; border-top: 1px solid var(--border) }
.delivery-head { display: flex; align-items: center; justify-content: space-between; gap: .75rem; font-size: .875rem;
  overflow-wrap: anywhere }
.delivery-head button:not(.link) { min-height: 1.875rem; font-size: .8125rem }
.attempts { display: grid; gap: .5rem; margin-top: .5rem; padding: 0; list-style: none; font-size: .8125rem }
.attempts pre { margin-top: .375rem; padding: .5rem .625rem; font-size: .75rem }

/* Charts */
.chart { margin: 0 0 1.5rem; font-size: .8125rem }
.chart figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .25rem 1rem; margin-bottom: .5rem;
  font-weight: 600 }
.legend { display: flex; flex-wrap: wrap; gap: .25rem .875rem; color: var(--faint); font-weight: 400 }
.legend i { display: inline-block; width: .625rem; height: .625rem; margin-inline-end: .3125rem; border-radius: 2px;
  vertical-align: baseline }
.plot { position: relative; padding-top: 1.125rem; border-bottom: 1px solid var(--strong-border) }
.plot svg { display: block; width: 100%; height: 8.5rem }
.scale { position: absolute; top: 0; left: 0; color: var(--faint); font-size: .75rem; font-variant-numeric: tabular-nums }
.ends { display: flex; justify-content: space-between; margin-top: .25rem; color: var(--faint); font-size: .75rem }
.chart rect.accent { fill: var(--accent) }
.chart rect.good { fill: var(--good) }
.chart rect.bad { fill: var(--bad) }
.chart rect.wait { fill: var(--wait) }
.chart rect.shade { fill: var(--accent); opacity: .22 }
.chart rect.hit { fill: transparent }
.chart g:hover rect.hit { fill: var(--raised) }
.chart line { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; vector-effect: non-scaling-stroke }
.life { overflow: visible; width: calc(100% - 1rem); height: 3rem; margin: .25rem .5rem 0 }
.life text { fill: var(--faint); font-size: .75rem }
.chart .life line { stroke: var(--strong-border); stroke-dasharray: none; stroke-width: 2 }
.chart .life .past { stroke: var(--accent) }
.life circle { fill: var(--card); stroke: var(--accent); stroke-width: 2 }
.life .now { fill: var(--accent) }
.legend .accent { background: var(--accent) }
.legend .good { background: var(--good) }
.legend .bad { background: var(--bad) }
.legend .wait { background: var(--wait) }
.legend .shade { background: color-mix(in srgb, var(--accent) 30%, transparent) }
.legend .line { height: 0; border-top: 2px dashed var(--bad); border-radius: 0; vertical-align: middle }
.chart details { margin-top: .625rem }
.chart summary { color: var(--faint); cursor: pointer }
.chart details .scroll { max-height: 18rem; margin-top: .5rem; overflow: auto }
.chart th, .chart td { padding: .3125rem .75rem }

@media (max-width: 60rem) {
  .body { grid-template-columns: minmax(0, 1fr) }
  .menu { top: 3.5rem; z-index: 1; display: flex; padding: .5rem 1rem; overflow-x: auto; border-bottom: 1px solid var(--border);
    background: var(--card) }
  .menu a { padding: .375rem .625rem }
  .pages { padding: 1.5rem 1.25rem 4rem }
}

@media (max-width: 44rem) {
  .top { gap: .625rem; padding: .5rem 1rem }
  .top .brand span, .person span { display: none }
  .org-choice { flex: 1; min-width: 0; max-width: none }
  .pages { padding: 1.25rem 1rem 4rem }
  .head .actions { width: 100% }
  .head .actions > * { flex: 1 }
  .four { grid-template-columns: 1fr 1fr }
  .filters { gap: .75rem }
  .filters .field { flex: 1; width: auto; min-width: 8rem }
  .danger-zone { grid-template-columns: 1fr; gap: .75rem }
  .danger-zone button { margin-bottom: .75rem }
  .danger-zone button:last-child { margin-bottom: 0 }
  .dialog-body { padding: 1.25rem 1rem }
  .command { flex-direction: column }
  .facts div { grid-template-columns: 1fr; gap: 0 }
  .pages .scroll.card { overflow: visible; border: 0; background: none; box-shadow: none }
  .pages table, .pages tbody, .pages td { display: block; min-width: 0; overflow-wrap: anywhere }
  .pages thead { display: none }
  .pages tbody tr { display: block; margin-bottom: .75rem; padding: .875rem 1rem; border: 1px solid var(--border); border-radius: 12px;
    background: var(--card) }
  .pages tbody tr td { padding: .1875rem 0 !important; border: 0 !important; background: none !important }
  .pages td[data-label]:not([data-label='']) { display: grid; grid-template-columns: 7rem minmax(0, 1fr); justify-items: start; gap: 0 .5rem }
  .pages td[data-label] > .sub { grid-column: 2 }
  .pages td > code { white-space: normal }
  .pages td[data-label]:not([data-label=''])::before { content: attr(data-label); color: var(--faint) }
  .pages td.main { margin-bottom: .25rem; font-size: .9375rem }
  .pages td.actions { text-align: start }
  .pages td.actions:not(:has(button)) { display: none }
  .pages td.actions button { margin-top: .5rem }
}

@media (prefers-reduced-motion: reduce) { * { animation: none !important } }
@media (forced-colors: active) { .badge, .chips code { border: 1px solid } .plot svg rect { forced-color-adjust: none } }

/* The reference */
.reference { display: grid; grid-template-columns: 16.5rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto }
.reference nav { position: sticky; top: 0; align-self: start; max-height: 100vh; padding: 2rem .5rem 2rem 1.25rem; overflow-y: auto }
.reference nav a { display: block; border-radius: 6px; color: var(--faint); text-decoration: none; overflow-wrap: anywhere }
.reference nav a:hover { background: var(--raised); color: var(--text) }
.reference nav a, .reference summary { padding: .25rem .5rem; font-size: .875rem }
.reference summary { font-weight: 600; cursor: pointer }
.reference summary::marker { color: var(--faint) }
.reference article { margin-top: 1.25rem }
.reference article h3 { margin-top: 0; overflow-wrap: anywhere }
.reference h3 code { font-size: .9375rem }
.reference h4 { margin: 1.25rem 0 .5rem; font-size: .875rem }
.reference :is(p, pre, ul, table, .facts, .summary, .answer) + :is(p, pre, ul, table, .facts) { margin-top: .75rem }
.reference :is(h2, h1) + :is(p, table) { margin-top: .75rem }
.reference .summary { font-weight: 600 }
.reference .answer { display: flex; align-items: baseline; gap: .5rem }
.reference .codes { display: flex; flex-wrap: wrap; gap: .25rem .75rem; font: .8125rem/1.5 var(--mono) }
.reference :is(td, th) { padding-block: .4375rem; vertical-align: top; overflow-wrap: anywhere }
.reference pre { tab-size: 4 }
.reference details > :is(pre, table) { margin: .25rem 0 .5rem }
@media (max-width: 60rem) {
  .reference { grid-template-columns: minmax(0, 1fr) }
  .reference nav { position: static; max-height: 40vh; border-bottom: 1px solid var(--border); background: var(--card) }
}
`;var f={base:new URL(".",location.href),home:document.body,isEmbedded:!1,byServices:!1,keyPrefix:"",maxKeyDays:0,readSettings:()=>Promise.resolve(),session:null},Pe=class{constructor(e,t){this.api=e;this.changed=t;this.orgs=[];this.apps=new Map}async reload(){this.orgs=await this.api.all("orgs","orgs"),this.changed()}async reloadApps(e){this.apps.set(e.id,await this.api.all(`orgs/${e.id}/apps`,"apps")),this.changed()}appName(e,t){return this.apps.get(e.id)?.find(i=>i.id===t)?.name??t}};var Ie=(n,e)=>`${n} ${e}${n===1?"":"s"}`,s={product:"Latchkey",loading:"Loading…",working:"Working…",more:"Load more",again:"Try again",refresh:"Refresh",close:"Close",cancel:"Cancel",create:"Create",save:"Save",saved:"Saved.",doneNotRead:"It is done, but this page could not be read again",edit:"Edit",rename:"Rename",remove:"Remove",copy:"Copy",copied:"Copied.",notCopied:"The browser did not let the page copy. Select the text and copy it.",none:"–",name:"Name",id:"Id",app:"App",status:"Status",created:"Created",actions:"Actions",problem:{title:"Something went wrong",status:n=>`The server answered ${n}.`,requestId:"Request id",ended:"The page acts for another person now. Nothing was sent.",unreachable:{title:"No answer",detail:"The server cannot be reached. Check your connection and try again."}},signIn:{title:"You are not signed in",button:"Sign in",signOut:"Sign out",out:"You are signed out",outAbout:"This page has forgotten your sign-in.",again:"You signed in again. Please repeat what you were about to do.",kept:"You signed in again. What you had entered is kept: open the form again.",filled:"You had to sign in again. Nothing was sent yet: look at what you entered, and send it.",filledUnsure:"You had to sign in again. What you sent before may have been done. Send the same again: it is not done twice.",notKept:"A URL can have a secret in it, so it was not kept: enter it again.",unreachable:"The console cannot reach its server. Check your connection and try again.",noConfig:n=>`The console has no settings: the server answered ${n}.`,lost:"The sign-in was begun in another tab, or too long ago. Sign in once more.",refused:n=>`The sign-in did not succeed: ${n}`},held:{secret:"Only its button closes this, because it is not shown again.",form:"What you entered would be lost. Cancel closes this.",leaveSecret:"What is shown here is not shown again. Leave without it?",leaveForm:"Leave? What you entered will be lost."},nav:{menu:"Org",skip:"Skip to the content",org:"Overview",members:"Members",keys:"API keys",links:"Links",endpoints:"Webhook endpoints",events:"Events",audit:"Audit log",reference:"API reference",noOrg:"No such org",noOrgAbout:"There is no such org, or you are not a member of it.",noPage:"Nothing to see here",noPageAbout:"There is no such page, or your role in this org does not open it."},roles:{admin:"manages members, keys and webhooks",member:"sees members, keys, links and events",viewer:"sees the org alone"},orgs:{title:"Your orgs",one:"Org",all:"All orgs",about:"An org has members, and apps with API keys, links and webhooks.",oneAbout:"The org and its apps.",create:"New org",createIntro:"You become its admin. A first app is made with it.",created:"The org is made.",none:"You are in no org yet",noneAbout:"Make one to create API keys, or ask an admin to add you to theirs.",noneByServices:"Ask an admin of an org to add you.",role:"Role",addedBy:"Added by",externalId:"External id",allowance:"Allowance of all keys",plan:"Plan",suspended:"This org is suspended since",suspendedAbout:"Its API keys are refused. What it has can be read and ended, and nothing can be made or widened.",viewer:"You are a viewer of this org. An admin can give you another role.",rename:"Rename org",leave:"Leave org",leaveIntro:"You lose access at once. An org keeps at least one admin.",left:"You left the org.",delete:"Delete org",deleteIntro:"All its API keys stop working at once, and its apps, links and webhooks end. Nobody can undo this.",typeName:"To confirm, type the name of the org:",otherName:"This is not the name of the org.",deleted:"The org is deleted."},apps:{title:"Apps",about:"An app owns API keys, links and webhook endpoints.",create:"New app",createIntro:"Make an app for each product or environment, such as staging.",rename:"Rename app",default:"default",keysBeginWith:"Its API keys begin with",keysBeginWithHelp:n=>`${n}, or ${n} and more letters or digits.`},members:{title:"Members",about:"The people of this org, and what they may do.",person:"Person",joined:"Joined",you:"you",add:"Add member",addSubmit:"Add",addIntro:"The person must have signed in here once, with this email verified.",email:"Email",added:"The member is added.",role:"Role",changeRole:"Change role",remove:"Remove member",removeIntro:"They lose access at once. API keys that they made stay good until you revoke them, which is the next question.",removed:"The member is removed.",keys:"API keys that they made",revoke:"Revoke the ticked keys",keysRevoked:"The keys are revoked.",keysIntro:"The member is removed, and may have copied these keys. Tick those to revoke: they are refused at once.",noneTicked:"Tick the keys to revoke, or cancel to keep all of them."},keys:{title:"API keys",about:"What your servers send to prove who they are.",key:"Key",create:"New API key",unnamed:"Unnamed key",none:"No API keys yet",noneAbout:"Create a key, put it in place of $KEY, and send a first request:",noneMember:"An admin of this org can create one.",nameHelp:"For you, to tell keys apart.",expires:"Expires",ends:"Rotated: ends",never:"Never",lastUsed:"Last used",neverUsed:"Never",days:n=>`After ${Ie(n,"day")}`,hours:n=>`After ${Ie(n,"hour")}`,scopes:"Scopes",scopesHelp:"What the key may do at the endpoints behind it, separated by spaces.",metadata:"Metadata",metadataName:"Name",metadataValue:"Value",metadataAdd:"Add a value",metadataHelp:"Passed to the endpoints with each request of the key; at most 1 KB.",limits:"Limits",per:n=>`per ${n}`,limit:(n,e)=>`${n} per ${e}`,limitsHelp:"How many requests are let through; at most three of the four. Empty is no limit.",ceilings:"Ceilings",ceilingsHelp:"Set by the owner of this service; both hold.",shownTitle:"Your new API key",shownIntro:"Copy it now and keep it safe. It is shown this once, and nobody can show it again.",leaked:"found in public",leakedAt:"The text of this key was found in public:",leakedTitle:"The texts of API keys were found in public. Who has a text can use its key until you revoke it:",stillGood:"still good",isDead:"no longer good",locator:"Locator",copyLocator:"Copy for support",copyKey:"Copy key",shownDone:"I have saved the key",try:"Try it",details:"API key",edit:"Edit API key",revokedAt:"Revoked",rotatedTo:"Replaced by",rotate:"Rotate",rotateTitle:"Rotate API key",rotateIntro:"A new key takes its place, with the same name, app, scopes, metadata and limits.",asBefore:"After as long as the old one",newExpires:"The new key expires",neverAsBefore:"Never, as the old one",grace:"The old key ends",graceNone:"At once",graceHelp:"Until then both keys work.",endsIn:n=>`ends in ${n}`,revoke:"Revoke",revokeTitle:"Revoke API key",revokeIntro:"Every request with this key is refused at once. Nobody can undo this.",alsoEndpoints:"Also disable its endpoints",alsoEndpointsHelp:"Webhook endpoints that the key made or set. If not, they go on getting events.",alsoLinks:"Also revoke its links",alsoLinksHelp:"Pending links that the key made. If not, they can still be claimed.",revoked:(n,e)=>["The key is revoked.",n?"Its endpoints are disabled; an admin can enable them.":"Endpoints that it made or set are as they were.",e?"Its pending links can no longer be claimed; the list shows it within minutes.":"Links that it made can still be claimed."].join(" ")},usage:{title:"Requests in the last 30 days (UTC)",requests:"Requests",atMost:"At most",day:"Day",limit:n=>`Limit of ${n} a day`,life:"Life of the key",now:"now",none:"Nothing was counted for this key alone in the last 30 days. A key without limits of its own is counted alone only where the deployment counts all.",together:"An allowance of the org is counted for all its keys together; its admins see how much is used.",ofOrg:(n,e,t)=>`All keys of the org share an allowance of ${n}. Counted for the org as a whole: ${e} requests today, ${t} this month (UTC).`,from:(n,e)=>`${n} to ${e}`,atLeast:n=>`at least ${n}`},chart:{table:"Show as a table",above:"above the chart"},links:{title:"Links",about:"Invitations that your server made, each for one device of a user.",user:"User",device:"Device",expires:"Expires",ended:"Claimed or revoked",none:"No links yet",noneAbout:"Your server makes one with an API key of this app:",revoke:"Revoke link",revokeShort:"Revoke",revokeIntro:"Nobody can claim it any more.",revoked:"The link is revoked."},endpoints:{title:"Webhook endpoints",one:"Webhook endpoint",about:"Where the events of this app are sent.",url:"URL",events:"Events",eventsHelp:"Types separated by spaces. * is every type; link.* is every type that begins so.",description:"Description",create:"New endpoint",createIntro:"It gets each event as a signed POST. Verify the signature before you trust it.",created:"The endpoint is made.",none:"No webhook endpoints yet",noneAbout:"Register a URL of your server to be told of links, keys and more as they change.",enabled:"enabled",disabled:"disabled",failing:"failing",since:"since",paused:"Paused until",reasons:{admin:"by an admin",user:"with an API key",gone:"it answered 410",failing:"it failed for 5 days"},test:"Send test event",testShort:"Test",tested:"A test event is on its way.",enable:"Enable endpoint",enableShort:"Enable",enableIntro:"Deliveries that are held go on.",disable:"Disable endpoint",disableShort:"Disable",disableIntro:"No attempt begins any more. Deliveries are held until an admin enables it.",delete:"Delete endpoint",deleteIntro:"Deliveries that wait are cancelled. Nobody can undo this.",deleted:"The endpoint is deleted.",held:"Held deliveries",createdBy:"Made by",setBy:"URL or events set by",admin:"an admin",last:"Last deliveries",hours:n=>`Deliveries of the last ${n} hours`,hour:"Hour",bounded:"There were more than 500: the bars show the oldest of them.",quiet:n=>`No event of the last ${n} hours is for this endpoint.`},events:{title:"Events",one:"Event",about:"What happened in this app, kept for 30 days. An event is listed 10 seconds after it happened.",type:"Type",at:"When",payload:"Payload",since:"Since",every:"Every type",hour:"the last hour",day:"the last 24 hours",week:"the last 7 days",month:"the last 30 days",newer:"Load newer events",hidden:"Only admins see the payload of events about webhook endpoints.",none:"No events in this time",noneAbout:"Events appear when links are claimed, keys change, or an endpoint is tested."},deliveries:{title:"Deliveries",delivered:"Delivered",failed:"Failed",waiting:"Waiting",again:"Send again",allAgain:"Send failed again",allIntro:"Every failed delivery to one endpoint since a time is sent once more.",attempts:n=>Ie(n,"attempt"),next:"next",at:"delivered",took:n=>`${n} ms`,noAttempt:"No attempt yet.",none:"No endpoint gets this event.",bounded:"Only the first deliveries are shown.",queued:n=>n===0?"Nothing to send again.":`${n===1?"One delivery":`${n} deliveries`} will be sent again.`},audit:{title:"Audit log",about:"Who did what in this org. Entries are kept for 400 days.",what:"Action",who:"By",target:"Target",changes:"Changes",service:"service",holder:"someone with its text",source:"found at",every:"All",none:"No entries",noneAbout:"What members and keys do appears here.",types:{user:"user",api_key:"API key",org:"org",key:"API key",app:"app",link:"link",endpoint:"endpoint"}},verify:{title:"Verify a webhook",about:"See what a receiver checks. Only the kid of what you paste leaves this page, to fetch its public key.",pasted:"Webhook",pastedHelp:"Its body, or the whole request with its headers.",endpoint:"Endpoint id",endpointHelp:"Of your endpoint: whe_… A receiver must compare it.",issuer:"Issuer",issuerHelp:"The base URL of the API, as a rule.",button:"Verify",result:"Result",why:"What was seen",check:"Check",key:"Public key",event:"Event",code:"A receiver",codeAbout:"Each makes these checks.",good:"This webhook is genuine.",bad:"A receiver refuses this webhook.",old:"This webhook was genuine when it was sent. A receiver refuses it now, because somebody could be sending it again.",open:"All that could be checked is right. Give the endpoint id and the issuer to check the rest.",results:{passed:"passed",failed:"failed",open:"not tried"},checks:{form:"Form",header:"Header",key:"Key",signature:"Signature",audience:"Audience",issuer:"Issuer",times:"Times",event:"Event"},says:{form:"It is three parts in base64url, and objects in JSON.",tooLong:"It is longer than 256 KB.",parts:n=>`It has ${Ie(n,"part")} between its dots; a webhook has three.`,notBase64:"A part is no base64url (RFC 4648), or has a second spelling of its bytes.",noJson:"A part is no JSON in UTF-8.",noObject:"A part is JSON, but no object.",twice:"A member of an object is there twice.",header:"alg is ES256, typ is webhook+jwt, and there is no crit.",alg:n=>`alg is ${n}, not "ES256".`,typ:n=>`typ is ${n}, not "webhook+jwt".`,crit:"crit is there: it may demand what a receiver does not know.",kid:"kid is not the base64url of 32 bytes.",key:"The key is known, and was not retired when this was signed.",unknownKey:"No key has this kid.",revokedKey:"The key was revoked: it proves nothing.",retiredKey:"The key had been retired when this was signed.",noKey:"What the API gives for it is no key that verifies.",noAnswer:n=>`The key cannot be looked up now (${n}).`,signature:"The key signed exactly these bytes.",notSigned:"The key did not sign these bytes.",notTried:"It was not tried, because a check before it failed.",audience:"It is for your endpoint.",anyAudience:n=>`It is for ${n}. Is this your endpoint?`,otherAudience:n=>`aud is ${n}, not your endpoint.`,issuer:"It is by your issuer.",anyIssuer:n=>`It is by ${n}.`,otherIssuer:n=>`iss is ${n}, not your issuer.`,times:"It was signed in the last five minutes, and has not expired.",noTime:"iat or exp is no whole number of seconds.",notYet:n=>`It was signed in the future: ${n}.`,tooOld:n=>`It was signed at ${n}, more than five minutes ago.`,event:"The event has an id, a type, a time and data.",noEvent:"There is no event.",noMember:n=>`The event has no ${n}.`,missing:"missing"}}};var P=class extends Error{constructor(t){super(t.detail);this.body=t}};async function bn(n){let e=await crypto.subtle.digest("SHA-256",new TextEncoder().encode(n));return[...new Uint8Array(e)].map(t=>t.toString(16).padStart(2,"0")).join("")}var Nt=new Set;var Ce=class{constructor(e){this.session=e}#e=!1;get hasEnded(){return this.#e}end(){this.#e=!0}get(e,t){return this.#t("GET",e,{query:t})}patch(e,t){return this.#t("PATCH",e,{body:t})}delete(e,t){return this.#t("DELETE",e,{query:t})}post(e,t){return this.#t("POST",e,{body:t})}async create(e,t,i){return this.#t("POST",e,{body:t,once:await bn(`${i.get("once")}${JSON.stringify(t)}`)})}async list(e,t,i){let r=await this.get(e,i);return{items:r[t],nextCursor:r.nextCursor}}async all(e,t,i={}){let r=await this.list(e,t,i),o=r.items;for(;r.nextCursor;)r=await this.list(e,t,{...i,limit:100,cursor:r.nextCursor}),o.push(...r.items);return o}async#t(e,t,i,r=!1){let o=new URLSearchParams;for(let[p,g]of Object.entries(i.query??{}))g!==void 0&&o.set(p,String(g));let l={Authorization:`Bearer ${await this.session.token()}`};if(this.#e)throw new Error(s.problem.ended);i.body!==void 0&&(l["Content-Type"]="application/json"),i.once&&(l["Idempotency-Key"]=i.once);let h=new URL(`v1/${t}${o.size?`?${o}`:""}`,f.base),c=i.body===void 0?void 0:JSON.stringify(i.body),u=Ge(h,{method:e,headers:l,body:c,cache:"no-store",credentials:"omit",redirect:"error"});e!=="GET"&&(Nt.add(u),u.then(()=>Nt.delete(u)));let m=await u;if(!(m instanceof P))return m;if(m.body.status===401){let p=Date.now()-this.session.startedAt<6e4,g=m.body.code==="token_ended";if((g||m.body.code==="insufficient_user_authentication")&&!r&&!(p&&this.session.again))return await this.session.signIn(m.body.maxAge??0,g),this.#t(e,t,i,!0);if(["token_expired","token_invalid"].includes(m.body.code)&&!r){if(await this.session.renew())return this.#t(e,t,i,!0);p||await this.session.signIn()}}throw m}};async function Ge(n,e){try{let t=await fetch(n,e);if(t.ok)return t.status===204?void 0:await t.json();let i=await t.json().catch(()=>null);return new P({title:s.problem.title,detail:s.problem.status(t.status),code:"unknown",requestId:"",...i,status:t.status})}catch{return new P({...s.problem.unreachable,status:0,code:"unreachable",requestId:""})}}function Qe(n,e="$KEY",t=""){let i=`curl -X POST ${new URL(n,f.base)} -H "Authorization: Bearer ${e}"`;return t?`${i} -H "Content-Type: application/json" -d '${t}'`:i}var vn=["text","email","number","checkbox","select-one","textarea","hidden"],$n=n=>[...n.elements].filter(e=>e.name),wn=n=>n.type==="checkbox",kn=n=>vn.includes(n.type);function Lt(n,{fields:e}){for(let t of $n(n).filter(i=>kn(i)&&!i.name.startsWith("pair-"))){let i=e.find(([r])=>r===t.name)?.[1];wn(t)?t.checked=i!==void 0:(!(t instanceof HTMLSelectElement)||[...t.options].some(r=>r.value===i))&&(t.value=i??"")}}var ee=null,Ht=n=>n!==null&&n.at<=Date.now()&&Date.now()-n.at<9e5;function qt(n){if(!Ht(ee)||ee.entered.form!==n)return null;let{entered:e}=ee;return ee=null,e}function q(n,e){Ht(ee)&&ee.entered.form===n&&e()}var B=class extends _{constructor(){super(...arguments);this.appId=""}static{this.properties={person:{attribute:!1},org:{attribute:!1},appId:{attribute:!1}}}createRenderRoot(){return this}get api(){return this.person.api}get isAdmin(){return this.org.role==="admin"}get path(){return`orgs/${encodeURIComponent(this.org.id)}`}get appPath(){return`${this.path}/apps/${encodeURIComponent(this.appId)}`}},xn=/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,$=n=>n.replace(xn,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,"0")}`),U=n=>a`<bdi>${$(n)}</bdi>`,Ue=n=>$(JSON.stringify(n,null,2)),An=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"short"}),_n=new Intl.NumberFormat("en-GB"),x=n=>_n.format(n),Ze=a`<span class="faint">${s.none}</span>`;function y(n,e=Ze){if(!n)return a`<span class="faint">${e}</span>`;let t=new Date(n).toISOString();return a`<time datetime=${t} title=${t}>${An.format(n)}</time>`}function En(n){let e=Math.max(0,Math.ceil((n-Date.now())/1e3)),t=[[86400,"d"],[3600,"h"],[60,"min"],[1,"s"]],i=t.findIndex(([h])=>e>=h);if(i<0)return"0 s";let[r,o]=[t[i],t[i+1]],l=o?Math.floor(e%r[0]/o[0]):0;return`${Math.floor(e/r[0])} ${r[1]}${o&&l?` ${l} ${o[1]}`:""}`}var Xe=class extends _{constructor(){super(...arguments);this.until=0;this.#e=0}static{this.properties={until:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=window.setInterval(()=>this.requestUpdate(),1e3)}disconnectedCallback(){super.disconnectedCallback(),clearInterval(this.#e)}render(){return s.keys.endsIn(En(this.until))}};customElements.define("lk-left",Xe);var Tn={active:"good",enabled:"good",delivered:"good",claimed:"good",pending:"wait",held:"wait",replaced:"wait",failed:"bad",revoked:"bad",disabled:"bad",admin:"accent",service:"accent"},O=(n,e=Tn[n]??"quiet")=>a`<span class="badge ${e}">${n}</span>`,E=n=>a`<code>${$(n)}</code>`,te=n=>n.map(e=>s.keys.limit(x(e.requests),e.per)).join(", "),Bt=n=>n instanceof P&&n.body.status>=400&&n.body.status<500;function w(n,e){let t=n instanceof P?n.body:null;return a`
    <div class="problem" role="alert">
      <strong>${t?.title??s.problem.title}</strong>
      <p>${$(t?.detail??String(n))}</p>
      ${t?.errors?.length?a`
        <ul>${t.errors.map(i=>a`<li><code>${$(i.pointer)}</code> ${$(i.message)}</li>`)}</ul>`:d}
      ${t?.requestId?a`<p class="small">${s.problem.requestId} <code>${t.requestId}</code></p>`:d}
      ${e?a`<button @click=${e}>${s.again}</button>`:d}
    </div>`}function z(n,e,t){return a`
    <div class="scroll card" role="region" tabindex="0" aria-label=${n}>
      <table role="table" aria-label=${n}>
        <thead role="rowgroup"><tr role="row">
          ${e.map(i=>a`<th role="columnheader" scope="col" class=${i.kind??""}>${i.kind==="actions"?a`<span class="sr">${i.label}</span>`:i.label}</th>`)}
        </tr></thead>
        <tbody role="rowgroup">${t.map(i=>a`
          <tr role="row">${e.map(r=>a`
            <td role="cell" class=${r.kind??""} data-label=${r.kind?"":r.label}>${r.cell(i)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`}var ne=(n,e,t=d)=>a`
  <div class="head">
    <div>${f.isEmbedded?a`<h2 class="title">${n}</h2>`:a`<h1 tabindex="-1">${n}</h1>`}<p>${e}</p></div>
    <div class="actions">${t}</div>
  </div>`,zt=(n,e)=>n.find(t=>t.id===e)??n.find(t=>t.isDefault)??n[0];function Kt(n,e,t){return n.length<2?d:a`
    <div class="app-choice"><label for="app">${s.app}</label>
      <select id="app" @change=${i=>t(i.target.value)}>${n.map(i=>a`
        <option value=${i.id} ?selected=${i===e}>${$(i.name)}</option>`)}</select></div>`}var L=(n,e,t=d,i="")=>a`
  <div class="empty card">
    ${se("empty")}<h2>${n}</h2><p>${e}</p>
    ${i?et(i):d}
    ${t}
  </div>`,et=n=>a`
  <div class="command"><pre tabindex="0">${n}</pre>${Oe(n)}</div>`;function Oe(n,e=s.copy,t=""){return a`<button type="button" class=${t} @click=${async r=>{let o=r.currentTarget;try{await navigator.clipboard.writeText(n)}catch{return k(s.notCopied)}k(s.copied),o.classList.add("done"),setTimeout(()=>o.classList.remove("done"),1500)}}>${se("copy")}${e}</button>`}function k(n){window.dispatchEvent(new CustomEvent("lk-announce",{detail:n}))}var ie=n=>a`
  <dl class="facts">${n.map(([e,t])=>a`<div><dt>${e}</dt><dd>${t}</dd></div>`)}</dl>`,Sn={org:v`<path d="M4 21V5l8-2v18M12 9l8 2v10M2 21h20M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17v.01"/>`,members:v`<circle cx="9" cy="8" r="3.5"/>
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5"/>`,keys:v`<circle cx="8" cy="16" r="4.5"/><path d="m11.2 12.8 8.3-8.3M16 8l3.5 3.5"/>`,links:v`<path d="M10 14a4.5 4.5 0 0 0 6.5 0l3-3A4.6 4.6 0 0 0 13 4.5l-1 1M14 10a4.5 4.5 0 0 0-6.5 0l-3 3A4.6 4.6 0 0 0 11 19.5l1-1"/>`,endpoints:v`<path d="M3 12h6M15 12h6"/><circle cx="12" cy="12" r="3"/><path d="M18 9l3 3-3 3"/>`,events:v`<path d="M3 12h4l3-8 4 16 3-8h4"/>`,audit:v`<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7"/>`,reference:v`<path d="M12 6.5C10 5 7 4.5 3 4.5v14c4 0 7 .5 9 2 2-1.5 5-2 9-2v-14c-4 0-7 .5-9 2zM12 6.5v14"/>`,verify:v`<path d="M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8.5 12l2.5 2.5 4.5-5"/>`,close:v`<path d="M6 6l12 12M18 6 6 18"/>`,copy:v`<rect x="9" y="9" width="11" height="11" rx="2"/>
    <path d="M15 5.5V5a1.5 1.5 0 0 0-1.5-1.5h-8A1.5 1.5 0 0 0 4 5v8a1.5 1.5 0 0 0 1.5 1.5H6"/>`,empty:v`<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5"/>`},se=n=>a`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${Sn[n]}</svg>`;var Me=class extends _{constructor(){super(...arguments);this.options={title:""};this.content=null;this.person=null;this.keep="";this.isTyped=!1;this.isBusy=!1;this.isUnsure=!1;this.#e=Pn();this.#t="";this.#n=t=>{this.#t=t.detail,this.requestUpdate()};this.#i=t=>{Cn||t.preventDefault()}}#e;#t;#n;#i;get isHeld(){return this.options.secret||this.isTyped||this.isBusy}createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),window.addEventListener("lk-announce",this.#n)}disconnectedCallback(){super.disconnectedCallback(),window.removeEventListener("lk-announce",this.#n),window.removeEventListener("beforeunload",this.#i)}firstUpdated(){this.querySelector("dialog")?.showModal(),(this.querySelector("form input:not([type=hidden]), form select, .first")??this.querySelector("h2"))?.focus()}updated(){this.isHeld?window.addEventListener("beforeunload",this.#i):window.removeEventListener("beforeunload",this.#i)}close(){this.querySelector("dialog")?.close(),this.#l()}typed(){this.isTyped=!0,this.requestUpdate()}#s(t){this.isHeld&&(t.preventDefault(),k(this.options.secret?s.held.secret:s.held.form))}#r(t){t.key==="Escape"&&this.#s(t)}#a(){this.isHeld&&this.content?this.querySelector("dialog")?.showModal():this.#l()}#o(t){this.options.drawer&&t.target===t.currentTarget&&this.close()}#l(){if(this.content){this.content=null,this.remove();for(let t of Un.splice(0))t();this.#e?.isConnected?this.#e.focus():document.querySelector("lk-dialog")||document.querySelector("h1")?.focus()}}render(){let{title:t,drawer:i,secret:r}=this.options;return a`
      <dialog class=${i?"drawer":"modal"} aria-labelledby="dialog-title" closedby=${this.isHeld?"none":"closerequest"}
        @close=${this.#a} @cancel=${this.#s} @keydown=${this.#r} @input=${this.typed} @click=${this.#o}>
        <div class="dialog-body">
          <div class="dialog-head">
            <h2 id="dialog-title" tabindex="-1">${t}</h2>
            ${r?d:a`
              <button class="plain" aria-label=${s.close} @click=${this.close}>${se("close")}</button>`}
          </div>
          ${this.content?.(this)}
          <div class="said" role="status" aria-live="polite">${this.#t?a`<p>${this.#t}</p>`:d}</div>
        </div>
      </dialog>`}};customElements.define("lk-dialog",Me);function Pn(){let n=document.activeElement;for(;n?.shadowRoot?.activeElement;)n=n.shadowRoot.activeElement;return n}var In=()=>[...f.home.querySelectorAll("lk-dialog")];function jt(n){for(let e of In())(!n||e.person===n)&&e.close()}var Cn=!1,Un=[];function S(n,e,t){let i=new Me;return i.options=e,i.content=t,i.person=n,n.api.hasEnded||f.home.appendChild(i),i}function I(n,e){let t=null,i=crypto.randomUUID(),r=qt(e.keep);r&&e.pairs?.restore(r.fields);let o=S(n,{title:e.title},l=>a`
      <form @submit=${async c=>{if(c.preventDefault(),l.isBusy)return;l.isBusy=!0,t=null,l.requestUpdate();let u;try{u=await e.run(new FormData(c.target))}catch(m){let p=m instanceof P&&m.body.status===404;if(!(e.ends&&l.isUnsure&&p))return t=m,l.isUnsure||=!Bt(m),l.isBusy=!1,l.requestUpdate()}l.close();try{await e.done?.(u)}catch(m){S(n,{title:s.doneNotRead},()=>w(m))}}}>
        <input type="hidden" name="once" .value=${i}>
        ${r?a`<p class="note">${r.isUnsure?s.signIn.filledUnsure:s.signIn.filled}
          ${r.isPart?s.signIn.notKept:d}</p>`:d}
        ${e.intro?a`<div class="intro">${e.intro}</div>`:d}
        ${e.fields?.(l)}
        ${t?w(t):d}
        <footer>
          <button type="button" @click=${()=>l.close()}>${s.cancel}</button>
          <button class=${e.danger?"danger":"primary"} ?disabled=${l.isBusy}>${l.isBusy?s.working:e.submit}</button>
        </footer>
      </form>`);return o.keep=e.keep??"",r&&(o.isTyped=!0,o.isUnsure=r.isUnsure,o.updateComplete.then(()=>Lt(o.querySelector("form"),r))),o}var K=class{constructor(e,t){this.host=e;this.read=t;this.items=[];this.ready=!1;this.busy=!1;this.error=null;this.#n=0}#e;#t;#n;get hasMore(){return this.#e!==void 0}load(){return this.#i(void 0)}more(){return this.busy?Promise.resolve():this.#i(this.#e)}async#i(e){let t=++this.#n;this.busy=!0,this.error=null,this.host.requestUpdate();try{let i=await this.read(e);if(t!==this.#n)return;this.items=e===void 0?i.items:[...this.items,...i.items],this.#e=i.nextCursor,this.ready=!0}catch(i){t===this.#n&&([this.error,this.#t]=[i,e])}t===this.#n&&(this.busy=!1,this.host.requestUpdate())}view(e,t,i=""){let r=this.error?w(this.error,()=>this.#i(this.#t)):d;return this.ready?a`
      ${this.hasMore&&i?a`<button class="more" ?disabled=${this.busy} @click=${()=>this.more()}>${i}</button>`:d}
      ${this.items.length?e(this.items):t}
      ${r}
      ${this.hasMore&&!i&&!this.error?a`<lk-more .busy=${this.busy} @more=${()=>this.more()}></lk-more>`:d}`:this.error?r:H()}},H=()=>a`
  <div class="skeleton" role="status"><span class="sr">${s.loading}</span><i></i><i></i><i></i></div>`,tt=class extends _{constructor(){super(...arguments);this.busy=!1;this.#e=null}static{this.properties={busy:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=new IntersectionObserver(t=>{t.some(i=>i.isIntersecting)&&this.#t()})}disconnectedCallback(){super.disconnectedCallback(),this.#e?.disconnect()}updated(){this.#e?.unobserve(this),this.busy||this.#e?.observe(this)}#t(){this.busy||this.dispatchEvent(new CustomEvent("more"))}render(){return a`<button class="more" ?disabled=${this.busy} @click=${this.#t}>${this.busy?s.loading:s.more}</button>`}};customElements.define("lk-more",tt);var Q=100,On=n=>n.parts.reduce((e,t)=>e+t.value,0);function De(n){let e=Math.max(1,...n.bars.map(l=>Math.max(On(l),l.shade??0))),t=n.line&&n.line.value<=e*5?n.line:null,i=Q/(Math.max(e,t?.value??0)*1.05),r=n.bars[0]?.parts??[],o=[{label:n.unit,cell:l=>l.label},...r.map((l,h)=>({label:l.name,kind:"number",cell:c=>x(c.parts[h].value)})),...n.shadeName?[{label:n.shadeName,kind:"number",cell:l=>l.shade==null?s.none:x(l.shade)}]:[]];return a`
    <figure class="chart">
      <figcaption>${n.title}<span class="legend">
        ${r.map(l=>a`<span><i class=${l.tone}></i>${l.name}</span>`)}
        ${n.shadeName?a`<span><i class="shade"></i>${n.shadeName}</span>`:d}
        ${n.line?a`<span><i class="line"></i>${n.line.name}${t?"":` (${s.chart.above})`}</span>`:d}
      </span></figcaption>
      <div class="plot">
        <span class="scale">${x(Math.max(e,t?.value??0))}</span>
        <svg viewBox="0 0 ${n.bars.length} ${Q}" preserveAspectRatio="none" role="img" aria-label=${n.title}>
          ${n.bars.map((l,h)=>Mn(l,h,i))}
          ${t?v`<line x1="0" x2=${n.bars.length} y1=${Q-t.value*i} y2=${Q-t.value*i}/>`:d}
        </svg>
      </div>
      <div class="ends"><span>${n.bars[0]?.label}</span><span>${n.bars.at(-1)?.label}</span></div>
      <details><summary>${s.chart.table}</summary>${z(n.title,o,[...n.bars].reverse())}</details>
    </figure>`}function Ft(n,e,t){let i=[...e,t].sort((c,u)=>c.at-u.at),[r,o]=[i[0].at,i.at(-1).at],l=c=>o===r?0:(c-r)/(o-r)*100,h=i.map(c=>`${c.label} ${new Date(c.at).toISOString().slice(0,10)}`).join(", ");return a`
    <figure class="chart">
      <figcaption>${n}</figcaption>
      <svg class="life" role="img" aria-label="${n}: ${h}">
        <line x1="0%" x2="100%" y1="8" y2="8"/><line class="past" x1="0%" x2="${l(t.at)}%" y1="8" y2="8"/>
        ${i.map((c,u)=>v`
          <circle class=${c===t?"now":""} cx="${l(c.at)}%" cy="8" r="5"/>
          <text x="${l(c.at)}%" y=${u>0&&u<i.length-1?42:28} text-anchor=${l(c.at)<50?"start":"end"}>${c.label}</text>`)}
      </svg>
    </figure>`}function Mn(n,e,t){let i=Q,r=[...n.parts.map(o=>`${o.name} ${x(o.value)}`),...n.shade==null?[]:[`≤ ${x(n.shade)}`]].join(", ");return v`<g><title>${n.label}: ${r}</title>
    <rect class="hit" x=${e} y="0" width="1" height=${Q}/>
    ${n.shade?v`<rect class="shade" x=${e+.12} y=${Q-n.shade*t} width="0.76" height=${n.shade*t}/>`:d}
    ${n.parts.filter(o=>o.value>0).map(o=>{let l=o.value*t;return i-=l,v`<rect class=${o.tone} x=${e+.12} y=${i} width="0.76" height=${l}/>`})}</g>`}var Dn=n=>n.error??(n.status===null?s.none:`HTTP ${n.status}`),Rn=n=>n.error===null&&n.status!==null&&n.status>=200&&n.status<300,Nn=n=>a`
  <li>
    ${O(Dn(n),Rn(n)?"good":"bad")} ${y(n.at)}
    <span class="faint">${s.deliveries.took(x(n.durationMs))}</span>
    ${n.body?a`<pre tabindex="0">${$(n.body)}</pre>`:d}
  </li>`;function nt(n,e,t){return a`
    <article class="delivery">
      <div class="delivery-head">
        <div>${O(n.status)} ${e}</div>
        ${t&&n.status!=="pending"?a`<button @click=${()=>t(n)}>${s.deliveries.again}</button>`:d}
      </div>
      <p class="small faint">
        ${s.deliveries.attempts(n.attempts)}${n.nextAttemptAt?a` · ${s.deliveries.next} ${y(n.nextAttemptAt)}`:d}
        ${n.deliveredAt?a` · ${s.deliveries.at} ${y(n.deliveredAt)}`:d}
      </p>
      ${n.lastAttempt?a`<ol class="attempts">${[n.lastAttempt,...n.earlierAttempts].map(Nn)}</ol>`:a`<p class="small faint">${s.deliveries.noAttempt}</p>`}
    </article>`}async function it(n,e){await n.api.post(`${n.appPath}/webhook_deliveries/redeliver`,{endpointId:e.endpointId,eventId:e.eventId}),k(s.deliveries.queued(1))}function me(n,e){let t=null,i=null,r=!1,o=null,l=0,h=async()=>{try{let p=encodeURIComponent(e);t??=await n.api.get(`${n.appPath}/webhook_events/${p}`);let g=await n.api.list(`${n.appPath}/webhook_deliveries`,"deliveries",{eventId:e});i=g.items,r=g.nextCursor!==void 0,o=null}catch(p){o=p}u.requestUpdate();let m=i?.length===0||i?.some(p=>p.status==="pending"&&p.lastAttempt===null);!o&&m&&u.isConnected&&l++<8&&setTimeout(h,1500)},c=m=>{it(n,m).then(()=>(l=0,h()),p=>{o=p,u.requestUpdate()})},u=S(n.person,{title:s.events.one,drawer:!0},()=>a`
    ${o?w(o):d}
    ${t?a`
      ${ie([[s.events.type,E(t.type)],[s.id,E(t.id)],[s.events.at,y(t.createdAt)]])}
      <h3>${s.events.payload}</h3>
      ${t.data===null?a`<p class="note">${s.events.hidden}</p>`:a`<pre class="payload" tabindex="0">${Ue(t.data)}</pre>`}
      <h3>${s.deliveries.title}</h3>`:d}
    ${i?a`
      ${i.map(m=>nt(m,U(m.endpointOrigin??m.endpointId),n.isAdmin?c:null))}
      ${i.length?d:a`<p class="note">${s.deliveries.none}</p>`}
      ${r?a`<p class="small faint">${s.deliveries.bounded}</p>`:d}
      <button @click=${()=>{l=0,h()}}>${s.refresh}</button>`:o?d:H()}`);return h(),u}var Wt=(n,e)=>a`
  <div class="field">
    <label for="f-${n.name}">${n.label}</label>
    ${e}
    ${n.help?a`<p class="help" id="h-${n.name}">${n.help}</p>`:d}
  </div>`,Vt=n=>n.help?`h-${n.name}`:d,j=n=>Wt(n,a`
  <input id="f-${n.name}" name=${n.name} type=${n.type??"text"} .defaultValue=${n.value??""} ?required=${n.required}
    maxlength=${n.max??d} pattern=${n.pattern??d} placeholder=${n.placeholder??d}
    autocomplete="off" spellcheck="false" aria-describedby=${Vt(n)}>`),M=n=>Wt(n,a`
  <select id="f-${n.name}" name=${n.name} aria-describedby=${Vt(n)}
    @change=${e=>n.change?.(e.target.value)}>
    ${n.options.map(([e,t])=>a`<option value=${e} ?selected=${e===n.value}>${t}</option>`)}
  </select>`),st=(n,e,t)=>a`
  <div class="check">
    <input type="checkbox" id="f-${n}" name=${n} aria-describedby="h-${n}">
    <div><label for="f-${n}">${e}</label><p class="help" id="h-${n}">${t}</p></div>
  </div>`,Yt=["minute","hour","day","month"],rt=n=>a`
  <fieldset>
    <legend>${s.keys.limits}</legend>
    <div class="four">${Yt.map(e=>a`
      <div class="field">
        <label for="f-limit-${e}">${s.keys.per(e)}</label>
        <input id="f-limit-${e}" name="limit-${e}" type="number" min="1" max="1000000000" inputmode="numeric"
          .defaultValue=${String(n.find(t=>t.per===e)?.requests??"")} aria-describedby="h-limits">
      </div>`)}
    </div>
    <p class="help" id="h-limits">${s.keys.limitsHelp}</p>
  </fieldset>`,ot=n=>Yt.map(e=>({requests:Number(n.get(`limit-${e}`)),per:e})).filter(e=>e.requests>0),ge=(n,e)=>String(n.get(e)??"").split(/[\s,]+/).filter(Boolean),C=(n,e)=>String(n.get(e)??"").trim(),ue=class{#e;constructor(e){this.#e=Object.entries(e)}restore(e){let t=r=>e.filter(([o])=>o===r).map(([,o])=>o),i=t("pair-value");this.#e=t("pair-name").map((r,o)=>[r,i[o]??""])}value(){return Object.fromEntries(this.#e.filter(([e])=>e!==""))}view(e){let t=(o,l)=>h=>{o[l]=h.target.value},i=o=>{this.#e=this.#e.filter(l=>l!==o),e.typed()},r=async()=>{this.#e.push(["",""]),e.requestUpdate(),await e.updateComplete,e.querySelector(".pair:last-of-type input")?.focus()};return a`
      <fieldset>
        <legend>${s.keys.metadata}</legend>
        ${this.#e.map(o=>a`
          <div class="pair">
            <input name="pair-name" aria-label=${s.keys.metadataName} placeholder=${s.keys.metadataName} .value=${o[0]} @input=${t(o,0)}>
            <textarea name="pair-value" rows="1" aria-label=${s.keys.metadataValue} placeholder=${s.keys.metadataValue} .value=${o[1]}
              @input=${t(o,1)}></textarea>
            <button type="button" class="plain" aria-label=${s.remove} @click=${()=>i(o)}>${se("close")}</button>
          </div>`)}
        <button type="button" class="small-button" @click=${r}>${s.keys.metadataAdd}</button>
        <p class="help">${s.keys.metadataHelp}</p>
      </fieldset>`}};var Ne=36e5,Ln=3e5,Hn=20,qn=5,Re=[24,6,2],at=class extends B{#e=new K(this,e=>this.api.list(`${this.appPath}/webhook_endpoints`,"endpoints",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e.load().then(()=>q(`${this.appPath}/webhook_endpoints`,()=>this.#n()))}#t(e){return`${this.appPath}/webhook_endpoints/${encodeURIComponent(e.id)}`}#n(){I(this.person,{title:s.endpoints.create,submit:s.create,intro:s.endpoints.createIntro,keep:`${this.appPath}/webhook_endpoints`,fields:()=>a`
        ${j({label:s.endpoints.url,name:"url",type:"url",required:!0,max:2048,placeholder:"https://example.com/hooks"})}
        ${j({label:s.endpoints.events,name:"events",value:"*",required:!0,help:s.endpoints.eventsHelp})}
        ${j({label:s.endpoints.description,name:"description",max:200})}`,run:e=>this.api.create(`${this.appPath}/webhook_endpoints`,{url:C(e,"url"),events:ge(e,"events"),description:C(e,"description")||null},e),done:()=>(k(s.endpoints.created),this.#e.load())})}async#i(e){try{let{eventId:t}=await this.api.post(`${this.#t(e)}/test`);me(this,t),k(s.endpoints.tested)}catch(t){S(this.person,{title:s.endpoints.test},()=>w(t))}}#s(e){let t=!e.enabled;I(this.person,{title:t?s.endpoints.enable:s.endpoints.disable,submit:t?s.endpoints.enable:s.endpoints.disable,danger:!t,intro:a`<p><code>${$(e.url)}</code></p><p>${t?s.endpoints.enableIntro:s.endpoints.disableIntro}</p>`,run:()=>this.api.patch(this.#t(e),{enabled:t}),done:()=>(k(s.saved),this.#e.load())})}#r(e){I(this.person,{title:s.endpoints.delete,submit:s.endpoints.delete,danger:!0,ends:!0,intro:a`<p><code>${$(e.url)}</code></p><p>${s.endpoints.deleteIntro}</p>`,run:()=>this.api.delete(this.#t(e)),done:()=>(k(s.endpoints.deleted),this.#e.load())})}#a(e){let t=null,i=null,r=[],o=0,l=!1,h=0,c=null,u=(b,D)=>this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:e.id,since:b,limit:100,cursor:D}),m=async()=>{h=(Math.floor(Date.now()/Ne)+1-Re[o])*Ne;let b=await u(h),D=b.items;for(let fe=1;fe<qn&&b.nextCursor;fe++)b=await u(h,b.nextCursor),D.push(...b.items);return l=b.nextCursor!==void 0,!l||o===Re.length-1?D:(o++,m())},p=async()=>{try{t=await this.api.get(this.#t(e)),i=await m(),r=(l?(await u(Date.now()-Ln)).items:i).slice(-Hn).reverse(),c=null}catch(b){c=b}T.requestUpdate()},g=b=>{it(this,b).then(async()=>{for(let D=0;D<5&&T.isConnected;D++)await p(),await new Promise(fe=>setTimeout(fe,1500))},D=>{c=D,T.requestUpdate()})},A=b=>()=>{T.close(),b.call(this,e)},T=S(this.person,{title:s.endpoints.one,drawer:!0},()=>a`
      <p class="intro"><code class="wrap">${$(e.url)}</code></p>
      <div class="row">
        <button @click=${A(this.#i)}>${s.endpoints.test}</button>
        <button @click=${A(this.#s)}>${e.enabled?s.endpoints.disable:s.endpoints.enable}</button>
        <button class="danger-text" @click=${A(this.#r)}>${s.endpoints.delete}</button>
      </div>
      ${c?w(c):d}
      ${i?Bn(i,h,Re[o]):c?d:H()}
      ${l?a`<p class="small faint">${s.endpoints.bounded}</p>`:d}
      ${ie([[s.status,this.#o(t??e)],...t?.pausedUntil&&t.pausedUntil>Date.now()?[[s.endpoints.paused,y(t.pausedUntil)]]:[],...t?[[s.endpoints.held,x(t.heldCount??0)]]:[],[s.endpoints.events,a`<span class="chips">${e.events.map(E)}</span>`],[s.endpoints.description,e.description?U(e.description):s.none],[s.id,E(e.id)],[s.created,y(e.createdAt)],[s.endpoints.createdBy,e.createdByKey?E(e.createdByKey):s.endpoints.admin],...e.urlSetByKey?[[s.endpoints.setBy,E(e.urlSetByKey)]]:[]])}
      <h3>${s.endpoints.last}</h3>
      ${r.map(b=>nt(b,a`
        <button class="link" @click=${()=>me(this,b.eventId)}><code>${$(b.eventType)}</code></button>
        ${y(b.createdAt)}`,g))}
      ${i?.length===0?a`<p class="note">${s.endpoints.quiet(Re[o])}</p>`:d}`);p()}#o(e){return e.enabled&&e.failingSince?a`${O(s.endpoints.failing,"bad")}<div class="sub">${s.endpoints.since} ${y(e.failingSince)}</div>`:e.enabled?O(s.endpoints.enabled,"good"):a`${O(s.endpoints.disabled,"bad")}
      <div class="sub">${s.endpoints.reasons[e.disabledReason??""]??e.disabledReason}, ${y(e.disabledAt)}</div>`}render(){let e=a`<button class="primary" @click=${this.#n}>${s.endpoints.create}</button>`;return a`
      ${ne(s.endpoints.title,s.endpoints.about,this.#e.items.length?e:d)}
      ${this.#e.view(t=>z(s.endpoints.title,[{label:s.endpoints.url,kind:"main",cell:i=>a`
          <button class="link" @click=${()=>this.#a(i)}><span class="url">${$(i.url)}</span></button>
          ${i.description?a`<div class="sub">${U(i.description)}</div>`:d}`},{label:s.endpoints.events,cell:i=>a`<span class="chips">${i.events.slice(0,3).map(E)}${i.events.length>3?a`<span class="faint">+${i.events.length-3}</span>`:d}</span>`},{label:s.status,cell:i=>this.#o(i)},{label:s.created,cell:i=>y(i.createdAt)},{label:s.actions,kind:"actions",cell:i=>a`
          <button ?disabled=${!i.enabled} @click=${()=>this.#i(i)}>${s.endpoints.testShort}</button>
          <button @click=${()=>this.#s(i)}>${i.enabled?s.endpoints.disableShort:s.endpoints.enableShort}</button>`}],t),L(s.endpoints.none,s.endpoints.noneAbout,e))}`}};customElements.define("lk-endpoints",at);function Bn(n,e,t){let i=Array.from({length:t},(r,o)=>{let l=e+o*Ne,h=n.filter(p=>p.createdAt>=l&&p.createdAt<l+Ne),c=(...p)=>h.filter(g=>p.includes(g.status)).length,[u,m]=[c("delivered"),c("failed")];return{label:new Date(l).toLocaleTimeString("en-GB",{hour:"2-digit",minute:"2-digit"}),parts:[{name:s.deliveries.delivered,tone:"good",value:u},{name:s.deliveries.failed,tone:"bad",value:m},{name:s.deliveries.waiting,tone:"wait",value:h.length-u-m}]}});return De({title:s.endpoints.hours(t),bars:i,unit:s.endpoints.hour})}var lt=100,zn=10,re=36e5,Jt=[[`${re}`,s.events.hour],[`${24*re}`,s.events.day],[`${168*re}`,s.events.week],[`${720*re}`,s.events.month]],dt=class extends B{#e=`${24*re}`;#t=0;#n="";#i=new K(this,async e=>{let t=[];for(let i=0;i<zn;i++){let r=await this.api.list(`${this.appPath}/webhook_events`,"events",e?{cursor:e,limit:lt}:{since:this.#t,limit:lt});if(t.push(...r.items),e=r.nextCursor,r.items.length<lt)return{items:t}}return{items:t,nextCursor:e}});connectedCallback(){super.connectedCallback(),this.#s(),q(`${this.appPath}/webhook_deliveries/redeliver`,()=>{this.#r()})}#s(){this.#t=Date.now()-Number(this.#e),this.#i.load()}async#r(){let e;try{e=await this.api.all(`${this.appPath}/webhook_endpoints`,"endpoints")}catch(r){return void S(this.person,{title:s.deliveries.allAgain},()=>w(r))}if(e.length===0)return k(`${s.endpoints.none}.`);let t="",i=I(this.person,{keep:`${this.appPath}/webhook_deliveries/redeliver`,title:s.deliveries.allAgain,submit:s.deliveries.again,intro:s.deliveries.allIntro,fields:()=>a`
        ${M({label:s.endpoints.url,name:"endpointId",options:e.map(r=>[r.id,$(r.url)])})}
        ${M({label:s.events.since,name:"since",options:Jt,value:`${24*re}`})}
        <input type="hidden" name="far" .value=${t}>`,run:async r=>{let[o,l]=[C(r,"endpointId"),C(r,"since")],h={endpointId:o,span:l,since:Date.now()-Number(l),queued:0},c=JSON.parse(C(r,"far")||"null");c?.endpointId===o&&c.span===l&&(h=c);do{let{since:u,cursor:m}=h,p=await this.api.post(`${this.appPath}/webhook_deliveries/redeliver`,{endpointId:o,since:u,status:"failed",cursor:m});h={...h,queued:h.queued+p.queued,cursor:p.nextCursor},t=JSON.stringify(h),i.requestUpdate()}while(h.cursor);return h.queued},done:r=>k(s.deliveries.queued(r))})}render(){let e=this.#n?[this.#n]:[],t=[...new Set([...this.#i.items.map(o=>o.type),...e])].sort(),i=o=>o.filter(l=>!this.#n||l.type===this.#n).reverse(),r=L(s.events.none,s.events.noneAbout,this.isAdmin&&!f.isEmbedded?a`<a class="button" href="#/orgs/${this.org.id}/endpoints/${this.appId}">${s.endpoints.title}</a>`:d);return a`
      ${ne(s.events.title,s.events.about,a`
        <button @click=${this.#s}>${s.refresh}</button>
        ${this.isAdmin?a`<button @click=${this.#r}>${s.deliveries.allAgain}</button>`:d}`)}
      <div class="filters">
        ${M({label:s.events.since,name:"span",options:Jt,value:this.#e,change:o=>{this.#e=o,this.#s()}})}
        ${M({label:s.events.type,name:"type",value:this.#n,options:[["",s.events.every],...t.map(o=>[o,o])],change:o=>{this.#n=o,this.requestUpdate()}})}
      </div>
      ${this.#i.view(o=>i(o).length===0?r:z(s.events.title,[{label:s.events.type,kind:"main",cell:l=>a`
          <button class="link" @click=${()=>me(this,l.id)}><code>${$(l.type)}</code></button>`},{label:s.events.at,cell:l=>y(l.createdAt)},{label:s.id,cell:l=>E(l.id)}],i(o)),r,s.events.newer)}`}};customElements.define("lk-events",dt);var Gt=30,Xt=n=>new Date(n).toISOString().slice(0,10);function Zt(n){let e=[...n.limits,...n.ceilings].filter(t=>t.per==="day").map(t=>t.requests);return e.length?Math.min(...e):null}async function Kn(n){if(!n.isAdmin)return s.usage.together;let{allowance:e}=await n.api.get(n.path);if(!e?.length)return"";let t=(await n.api.all(`${n.path}/usage`,"usage")).filter(i=>!i.keyId);return s.usage.ofOrg(te(e),Qt(t.filter(i=>i.date===Xt(Date.now()))),Qt(t))}function Qt(n){let e=n.reduce((i,r)=>i+r.requests,0),t=n.reduce((i,r)=>i+(r.atMost??1/0),0);return t===1/0?s.usage.atLeast(x(e)):e===t?x(e):s.usage.from(x(e),x(t))}function en(n,e,t){let i=null,r="",o=null,l=!1;return h=>{if(l||(l=!0,Promise.all([n.api.get(`${n.path}/keys/${encodeURIComponent(e.id)}/usage`),Kn(n)]).then(([p,g])=>{[i,r]=[p.days,g]},p=>{o=p}).finally(()=>h.requestUpdate())),o)return w(o);if(!i)return H();let c=r?a`<p class="note">${r}</p>`:d;if(i.length===0)return a`<p class="note">${s.usage.none}</p>${c}`;let u=new Map(i.map(p=>[p.date,p])),m=Array.from({length:Gt},(p,g)=>{let A=Xt(Date.now()-(Gt-1-g)*864e5),T=u.get(A);return{label:A,shade:T?T.atMost:0,parts:[{name:s.usage.requests,tone:"accent",value:T?.requests??0}]}});return a`${De({title:s.usage.title,bars:m,unit:s.usage.day,shadeName:s.usage.atMost,line:t===null?void 0:{value:t,name:s.usage.limit(x(t))}})}${c}`}}var jn=7*864e5,X=86400,Fn=[["0",s.keys.graceNone],["3600",s.keys.hours(1)],[`${X}`,s.keys.hours(24)],[`${3*X}`,s.keys.days(3)],[`${7*X}`,s.keys.days(7)]];function oe(){let n=f.maxKeyDays||1/0,e=[1,7,30,90,365].filter(t=>t<n);return(n<1/0?[...e,n]:e).map(t=>[`${t*X}`,s.keys.days(t)])}var ct=()=>f.maxKeyDays?`${f.maxKeyDays*X}`:"";function Wn(n){if(!n.expiresAt)return f.maxKeyDays?oe():[["",s.keys.neverAsBefore],...oe()];let e=Math.round((n.expiresAt-n.createdAt)/1e3);return!f.maxKeyDays||e<=f.maxKeyDays*X?[[`${e}`,s.keys.asBefore],...oe().filter(([i])=>i!==`${e}`)]:oe()}var pt=n=>!n.revokedAt&&!(n.expiresAt&&n.expiresAt<=Date.now());var ht=class extends B{#e=new K(this,e=>this.api.list(`${this.path}/keys`,"keys",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e.load().then(()=>{q(`${this.path}/keys`,()=>this.#r());for(let e of this.#e.items)q(this.#t(e),()=>this.#p(e)),q(`${this.#t(e)}/rotate`,()=>this.#l(e))})}#t(e){return`${this.path}/keys/${e.id}`}#n(e){return e.revokedAt?"revoked":e.expiresAt&&e.expiresAt<=Date.now()?"expired":e.rotatedTo?"replaced":"active"}#i(e){return this.#n(e)==="active"}async#s(e,t){try{await f.readSettings()}catch(i){return void S(this.person,{title:e},()=>w(i))}t()}#r=()=>this.#s(s.keys.create,()=>{let e=new ue({});I(this.person,{title:s.keys.create,submit:s.keys.create,keep:`${this.path}/keys`,pairs:e,fields:t=>a`
        ${j({label:s.name,name:"name",max:100,help:s.keys.nameHelp})}
        <div class="two">
          ${M({label:s.app,name:"appId",options:(this.person.apps.get(this.org.id)??[]).map(i=>[i.id,i.name])})}
          ${M({label:s.keys.expires,name:"expiresIn",value:ct(),options:ct()?oe():[["",s.keys.never],...oe()]})}
        </div>
        ${this.#a([])}${e.view(t)}${rt([])}`,run:t=>this.api.create(`${this.path}/keys`,{name:C(t,"name")||null,appId:C(t,"appId")||null,expiresIn:Number(t.get("expiresIn"))||null,scopes:ge(t,"scopes"),metadata:e.value(),limits:ot(t)},t),done:t=>this.#o(t)})});#a(e){return j({label:s.keys.scopes,name:"scopes",value:e.join(" "),help:s.keys.scopesHelp,placeholder:"invoices:read"})}#o(e){let t=e.key;return S(this.person,{title:s.keys.shownTitle,secret:!0},i=>a`
      <p class="intro">${s.keys.shownIntro}</p>
      <div class="secret"><code id="new-key">${t}</code></div>
      <div class="row">${Oe(t,s.keys.copyKey,"primary first")}</div>
      <h3>${s.keys.try}</h3>
      ${et(Qe("app/get",t))}
      <footer><button @click=${()=>i.close()}>${s.keys.shownDone}</button></footer>`),this.#e.load()}#l=e=>this.#s(s.keys.rotateTitle,()=>{let t=Wn(e);I(this.person,{title:s.keys.rotateTitle,submit:s.keys.rotate,intro:a`<p>${this.#d(e)}</p><p>${s.keys.rotateIntro}</p>`,keep:`${this.#t(e)}/rotate`,fields:()=>a`<div class="two">
        ${M({label:s.keys.grace,name:"grace",options:Fn,value:`${X}`,help:s.keys.graceHelp})}
        ${M({label:s.keys.newExpires,name:"expiresIn",options:t,value:e.expiresAt&&t[0][1]===s.keys.asBefore?t[0][0]:ct()})}</div>`,run:i=>this.api.create(`${this.#t(e)}/rotate`,{graceSeconds:Number(i.get("grace")),expiresIn:Number(i.get("expiresIn"))||null},i),done:i=>this.#o(i)})});#c(e){I(this.person,{title:s.keys.revokeTitle,submit:s.keys.revoke,danger:!0,intro:a`<p>${this.#d(e)}</p><p>${s.keys.revokeIntro}</p>`,fields:()=>a`
        ${st("endpoints",s.keys.alsoEndpoints,s.keys.alsoEndpointsHelp)}
        ${st("links",s.keys.alsoLinks,s.keys.alsoLinksHelp)}`,run:async t=>{let i=t.has("endpoints"),r=t.has("links");return await this.api.delete(this.#t(e),{endpoints:i?"disable":void 0,links:r?"revoke":void 0}),s.keys.revoked(i,r)},done:t=>(k(t),this.#e.load())})}#p(e){let t=new ue(e.metadata);I(this.person,{title:s.keys.edit,submit:s.save,keep:this.#t(e),pairs:t,fields:i=>a`
        ${j({label:s.name,name:"name",value:e.name,max:100,required:e.name!==""})}
        ${this.#a(e.scopes)}${t.view(i)}${rt(e.limits)}
        ${e.ceilings.length?a`
          <p class="note">${s.keys.ceilings}: ${te(e.ceilings)}. ${s.keys.ceilingsHelp}</p>`:d}`,run:i=>this.api.patch(this.#t(e),{name:C(i,"name")||null,scopes:ge(i,"scopes"),metadata:t.value(),limits:ot(i)}),done:()=>(k(s.saved),this.#e.load())})}#u(e){let t=en(this,e,Zt(e)),i=(r,o)=>()=>{r.close(),o.call(this,e)};S(this.person,{title:s.keys.details,drawer:!0},r=>a`
      <p class="intro">${this.#d(e)} ${this.#m(e)}</p>
      ${e.leakedAt?a`<p class="note alarm">${s.keys.leakedAt} ${y(e.leakedAt)}</p>`:d}
      ${this.isAdmin&&pt(e)?a`<div class="row">
        <button @click=${i(r,this.#p)}>${s.edit}</button>
        ${this.#i(e)?a`<button @click=${i(r,this.#l)}>${s.keys.rotate}</button>`:d}
        <button class="danger-text" @click=${i(r,this.#c)}>${s.keys.revoke}</button></div>`:d}
      ${t(r)}
      ${Ft(s.usage.life,[{label:s.created,at:e.createdAt},...e.expiresAt?[{label:e.rotatedTo?s.keys.ends:s.keys.expires,at:e.expiresAt}]:[],...e.revokedAt?[{label:s.keys.revokedAt,at:e.revokedAt}]:[]],{label:s.usage.now,at:Date.now()})}
      ${ie([[s.id,E(e.id)],...e.locator?[[s.keys.locator,a`${E(e.locator)} ${Oe(e.locator,s.keys.copyLocator)}`]]:[],[s.app,U(this.person.appName(this.org,e.appId))],[s.created,y(e.createdAt)],[s.keys.lastUsed,y(e.lastUsedAt,s.keys.neverUsed)],[s.keys.expires,y(e.expiresAt,s.keys.never)],...e.revokedAt?[[s.keys.revokedAt,y(e.revokedAt)]]:[],...e.rotatedTo?[[s.keys.rotatedTo,E(e.rotatedTo)]]:[],[s.keys.scopes,this.#h(e)],[s.keys.limits,te(e.limits)||s.none],[s.keys.ceilings,e.ceilings.length?a`${te(e.ceilings)} <span class="faint">${s.keys.ceilingsHelp}</span>`:s.none],[s.keys.metadata,Object.keys(e.metadata).length?a`<pre tabindex="0">${Ue(e.metadata)}</pre>`:s.none]])}`)}#d(e){return a`<strong>${e.name?U(e.name):s.keys.unnamed}</strong> <code>${e.keyPrefix}…</code>`}#h(e){return e.scopes.length?a`<span class="chips">${e.scopes.map(t=>a`<code>${t}</code>`)}</span>`:Ze}#m(e){let t=this.#n(e),i=pt(e)&&e.expiresAt&&e.expiresAt-Date.now()<=jn;return a`${O(t)}${e.leakedAt?a` ${O(s.keys.leaked,"bad")}`:d}${i?a`<lk-left class="sub" .until=${e.expiresAt}></lk-left>`:d}`}render(){let e=this.isAdmin?a`<button class="primary" @click=${this.#r}>${s.keys.create}</button>`:d;return a`
      ${ne(s.keys.title,s.keys.about,this.#e.items.length?e:d)}
      ${this.#e.view(t=>z(s.keys.title,[{label:s.keys.key,kind:"main",cell:i=>a`
          <button class="link" @click=${()=>this.#u(i)}>${i.name?U(i.name):s.keys.unnamed}</button>
          <div class="sub"><code>${i.keyPrefix}…</code> · ${U(this.person.appName(this.org,i.appId))}</div>`},{label:s.keys.scopes,cell:i=>this.#h(i)},{label:s.keys.lastUsed,cell:i=>y(i.lastUsedAt,s.keys.neverUsed)},{label:s.keys.expires,cell:i=>y(i.expiresAt,s.keys.never)},{label:s.status,cell:i=>this.#m(i)},{label:s.actions,kind:"actions",cell:i=>this.isAdmin&&pt(i)?a`
          ${this.#i(i)?a`<button @click=${()=>this.#l(i)}>${s.keys.rotate}</button>`:d}
          <button class="danger-text" @click=${()=>this.#c(i)}>${s.keys.revoke}</button>`:d}],t),L(s.keys.none,this.isAdmin?s.keys.noneAbout:s.keys.noneMember,e,this.isAdmin?Qe("app/get"):""))}`}};customElements.define("lk-keys",ht);var sn=[ve(Rt),qe`
  :host { display: block; margin-block: 1.5rem; color-scheme: inherit; color: var(--text) }
  .pages { padding: 0 }
  .pages > * + * { margin-top: 2rem }`],mt=class{constructor(e,t){this.give=e;this.other=t;this.startedAt=0;this.again=!1}#e;#t;async#n(e){let t=this.give,i=await t(e);if(t!==this.give)return this.#n(e);let r=tn(i);if(this.#t??=r,r===this.#t)return i;throw this.other(),new Error(s.problem.ended)}async isStill(e){this.give=e,this.#e=void 0;let t=this.#t;return!!t&&t===tn(await e({}))}async token(){let e=this.#e??this.#n({});return this.#e=void 0,e}async renew(){return this.#e=await this.#n({fresh:!0}),!0}async signIn(e){this.#e=await this.#n({fresh:!0,maxAge:e})}};function tn(n){try{let e=atob(n.split(".")[1].replaceAll("-","+").replaceAll("_","/")),{iss:t,sub:i}=JSON.parse(e);return JSON.stringify([t,i])}catch{return""}}var nn;f.readSettings=async()=>{let n=await(nn??=Ge(new URL("console/config.json",f.base),{credentials:"omit"}));if(n instanceof P)throw nn=void 0,n;f.maxKeyDays=n.maxKeyDays};var Le=class extends _{constructor(){super(...arguments);this.org="";this.app="";this.#i=!1;this.#s=null}static{this.styles=sn}static{this.properties={org:{},app:{},token:{attribute:!1}}}#e;#t;#n;#i;#s;willUpdate(t){!t.has("token")&&!t.has("org")||(!this.token||!this.org?this.#a():this.#r(this.token,t.has("org")))}async#r(t,i){let r=this.#e;!(r&&!i&&!this.#s&&await r.isStill(t).catch(()=>!1))&&r===this.#e&&t===this.token&&this.#o()}#a(){this.#t&&(this.#t.api.end(),jt(this.#t)),this.#e=this.#t=void 0,this.#i=!1,this.#s=null}async#o(){this.#a();let t=this.#e=new mt(this.token,()=>{t===this.#e&&this.#o()}),i=this.#t=new Pe(new Ce(t),()=>this.requestUpdate());this.requestUpdate();try{f.readSettings().catch(()=>{}),await i.reload();let r=i.orgs.find(o=>o.id===this.org);if(r&&r.role!=="viewer"&&await i.reloadApps(r),i!==this.#t)return;this.#n=r,this.#i=!0}catch(r){i===this.#t&&(this.#s=r)}this.requestUpdate()}render(){if(this.#s)return w(this.#s,()=>{this.#o()});let t=this.#t;if(!this.#i||!t)return H();let i=this.#n;if(!i)return L(s.nav.noOrg,s.nav.noOrgAbout);if(i.role==="viewer")return L(s.nav.noPage,s.nav.noPageAbout);let r=t.apps.get(i.id)??[],o=zt(r,this.app);return a`
      <div class="pages">
        ${this.ofApp&&!this.getAttribute("app")?Kt(r,o,l=>{this.app=l}):d}
        ${Dt(`${i.id}/${o?.id}`,this.pages(t,i,o?.id??""))}
      </div>`}get ofApp(){return!1}},ut=class extends Le{pages(e,t){return a`<lk-keys .person=${e} .org=${t}></lk-keys>`}};customElements.define("latchkey-keys",ut);var gt=class extends Le{get ofApp(){return!0}pages(e,t,i){return a`
      ${t.role==="admin"?a`<lk-endpoints .person=${e} .org=${t} .appId=${i}></lk-endpoints>`:d}
      <lk-events .person=${e} .org=${t} .appId=${i}></lk-events>`}};customElements.define("latchkey-webhooks",gt);function Vn(){let n=document.createElement("div"),e=n.attachShadow({mode:"open"});$e(e,sn);let t=document.createElement("div");t.className="said",t.role="status",e.append(t);let i=0;return window.addEventListener("lk-announce",r=>{let o=document.createElement("p");o.textContent=r.detail,t.replaceChildren(o),clearTimeout(i),i=window.setTimeout(()=>t.replaceChildren(),5e3)}),document.body.append(n),e}f.isEmbedded=!0;f.base=new URL("../..",import.meta.url);f.home=Vn();
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
lit-html/directive.js:
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

lit-html/directive-helpers.js:
  (**
   * @license
   * Copyright 2020 Google LLC
   * SPDX-License-Identifier: BSD-3-Clause
   *)

lit-html/directives/keyed.js:
  (**
   * @license
   * Copyright 2021 Google LLC
   * SPDX-License-Identifier: BSD-3-Clause
   *)
*/
