var y=["link.claimed","link.expired","link.revoked","key.created","key.updated","key.revoked","key.expiring","key.leaked","key.limit_near","key.limit_reached","org.allowance_near","org.allowance_reached","endpoint.created","endpoint.updated","endpoint.deleted","endpoint.disabled","test"];var Le=globalThis,Ne=Le.ShadowRoot&&(Le.ShadyCSS===void 0||Le.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,ct=Symbol(),Ft=new WeakMap,Ee=class{constructor(e,t,s){if(this._$cssResult$=!0,s!==ct)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,t=this.t;if(Ne&&e===void 0){let s=t!==void 0&&t.length===1;s&&(e=Ft.get(t)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),s&&Ft.set(t,e))}return e}toString(){return this.cssText}},qe=n=>new Ee(typeof n=="string"?n:n+"",void 0,ct),pt=(n,...e)=>{let t=n.length===1?n[0]:e.reduce((s,r,o)=>s+(l=>{if(l._$cssResult$===!0)return l.cssText;if(typeof l=="number")return l;throw Error("Value passed to 'css' function must be a 'css' function result: "+l+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(r)+n[o+1],n[0]);return new Ee(t,n,ct)},He=(n,e)=>{if(Ne)n.adoptedStyleSheets=e.map(t=>t instanceof CSSStyleSheet?t:t.styleSheet);else for(let t of e){let s=document.createElement("style"),r=Le.litNonce;r!==void 0&&s.setAttribute("nonce",r),s.textContent=t.cssText,n.appendChild(s)}},ht=Ne?n=>n:n=>n instanceof CSSStyleSheet?(e=>{let t="";for(let s of e.cssRules)t+=s.cssText;return qe(t)})(n):n;var{is:Fn,defineProperty:Wn,getOwnPropertyDescriptor:Vn,getOwnPropertyNames:Yn,getOwnPropertySymbols:Jn,getPrototypeOf:Gn}=Object,Be=globalThis,Wt=Be.trustedTypes,Qn=Wt?Wt.emptyScript:"",Zn=Be.reactiveElementPolyfillSupport,Te=(n,e)=>n,mt={toAttribute(n,e){switch(e){case Boolean:n=n?Qn:null;break;case Object:case Array:n=n==null?n:JSON.stringify(n)}return n},fromAttribute(n,e){let t=n;switch(e){case Boolean:t=n!==null;break;case Number:t=n===null?null:Number(n);break;case Object:case Array:try{t=JSON.parse(n)}catch{t=null}}return t}},Yt=(n,e)=>!Fn(n,e),Vt={attribute:!0,type:String,converter:mt,reflect:!1,useDefault:!1,hasChanged:Yt};Symbol.metadata??=Symbol("metadata"),Be.litPropertyMetadata??=new WeakMap;var W=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=Vt){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let s=Symbol(),r=this.getPropertyDescriptor(e,s,t);r!==void 0&&Wn(this.prototype,e,r)}}static getPropertyDescriptor(e,t,s){let{get:r,set:o}=Vn(this.prototype,e)??{get(){return this[t]},set(l){this[t]=l}};return{get:r,set(l){let d=r?.call(this);o?.call(this,l),this.requestUpdate(e,d,s)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??Vt}static _$Ei(){if(this.hasOwnProperty(Te("elementProperties")))return;let e=Gn(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(Te("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(Te("properties"))){let t=this.properties,s=[...Yn(t),...Jn(t)];for(let r of s)this.createProperty(r,t[r])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[s,r]of t)this.elementProperties.set(s,r)}this._$Eh=new Map;for(let[t,s]of this.elementProperties){let r=this._$Eu(t,s);r!==void 0&&this._$Eh.set(r,t)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let s=new Set(e.flat(1/0).reverse());for(let r of s)t.unshift(ht(r))}else e!==void 0&&t.push(ht(e));return t}static _$Eu(e,t){let s=t.attribute;return s===!1?void 0:typeof s=="string"?s:typeof e=="string"?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let s of t.keys())this.hasOwnProperty(s)&&(e.set(s,this[s]),delete this[s]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return He(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,s){this._$AK(e,s)}_$ET(e,t){let s=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,s);if(r!==void 0&&s.reflect===!0){let o=(s.converter?.toAttribute!==void 0?s.converter:mt).toAttribute(t,s.type);this._$Em=e,o==null?this.removeAttribute(r):this.setAttribute(r,o),this._$Em=null}}_$AK(e,t){let s=this.constructor,r=s._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let o=s.getPropertyOptions(r),l=typeof o.converter=="function"?{fromAttribute:o.converter}:o.converter?.fromAttribute!==void 0?o.converter:mt;this._$Em=r;let d=l.fromAttribute(t,o.type);this[r]=d??this._$Ej?.get(r)??d,this._$Em=null}}requestUpdate(e,t,s,r=!1,o){if(e!==void 0){let l=this.constructor;if(r===!1&&(o=this[e]),s??=l.getPropertyOptions(e),!((s.hasChanged??Yt)(o,t)||s.useDefault&&s.reflect&&o===this._$Ej?.get(e)&&!this.hasAttribute(l._$Eu(e,s))))return;this.C(e,t,s)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(e,t,{useDefault:s,reflect:r,wrapped:o},l){s&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,l??t??this[e]),o!==!0||l!==void 0)||(this._$AL.has(e)||(this.hasUpdated||s||(t=void 0),this._$AL.set(e,t)),r===!0&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(t){Promise.reject(t)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[r,o]of this._$Ep)this[r]=o;this._$Ep=void 0}let s=this.constructor.elementProperties;if(s.size>0)for(let[r,o]of s){let{wrapped:l}=o,d=this[r];l!==!0||this._$AL.has(r)||d===void 0||this.C(r,void 0,o,d)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(s=>s.hostUpdate?.()),this.update(t)):this._$EM()}catch(s){throw e=!1,this._$EM(),s}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(t=>t.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(t=>this._$ET(t,this[t])),this._$EM()}updated(e){}firstUpdated(e){}};W.elementStyles=[],W.shadowRootOptions={mode:"open"},W[Te("elementProperties")]=new Map,W[Te("finalized")]=new Map,Zn?.({ReactiveElement:W}),(Be.reactiveElementVersions??=[]).push("2.1.2");var gt=globalThis,Jt=n=>n,ze=gt.trustedTypes,Gt=ze?ze.createPolicy("lit-html",{createHTML:n=>n}):void 0,ft="$lit$",V=`lit$${Math.random().toFixed(9).slice(2)}$`,yt="?"+V,Xn=`<${yt}>`,ee=document,Se=()=>ee.createComment(""),Ie=n=>n===null||typeof n!="object"&&typeof n!="function",bt=Array.isArray,nn=n=>bt(n)||typeof n?.[Symbol.iterator]=="function",ut=`[ 	
\f\r]`,_e=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Qt=/-->/g,Zt=/>/g,Z=RegExp(`>|${ut}(?:([^\\s"'>=/]+)(${ut}*=${ut}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),Xt=/'/g,en=/"/g,sn=/^(?:script|style|textarea|title)$/i,vt=n=>(e,...t)=>({_$litType$:n,strings:e,values:t}),a=vt(1),x=vt(2),Gs=vt(3),te=Symbol.for("lit-noChange"),c=Symbol.for("lit-nothing"),tn=new WeakMap,X=ee.createTreeWalker(ee,129);function rn(n,e){if(!bt(n)||!n.hasOwnProperty("raw"))throw Error("invalid template strings array");return Gt!==void 0?Gt.createHTML(e):e}var on=(n,e)=>{let t=n.length-1,s=[],r,o=e===2?"<svg>":e===3?"<math>":"",l=_e;for(let d=0;d<t;d++){let p=n[d],m,g,h=-1,u=0;for(;u<p.length&&(l.lastIndex=u,g=l.exec(p),g!==null);)u=l.lastIndex,l===_e?g[1]==="!--"?l=Qt:g[1]!==void 0?l=Zt:g[2]!==void 0?(sn.test(g[2])&&(r=RegExp("</"+g[2],"g")),l=Z):g[3]!==void 0&&(l=Z):l===Z?g[0]===">"?(l=r??_e,h=-1):g[1]===void 0?h=-2:(h=l.lastIndex-g[2].length,m=g[1],l=g[3]===void 0?Z:g[3]==='"'?en:Xt):l===en||l===Xt?l=Z:l===Qt||l===Zt?l=_e:(l=Z,r=void 0);let $=l===Z&&n[d+1].startsWith("/>")?" ":"";o+=l===_e?p+Xn:h>=0?(s.push(m),p.slice(0,h)+ft+p.slice(h)+V+$):p+V+(h===-2?d:$)}return[rn(n,o+(n[t]||"<?>")+(e===2?"</svg>":e===3?"</math>":"")),s]},Pe=class n{constructor({strings:e,_$litType$:t},s){let r;this.parts=[];let o=0,l=0,d=e.length-1,p=this.parts,[m,g]=on(e,t);if(this.el=n.createElement(m,s),X.currentNode=this.el.content,t===2||t===3){let h=this.el.content.firstChild;h.replaceWith(...h.childNodes)}for(;(r=X.nextNode())!==null&&p.length<d;){if(r.nodeType===1){if(r.hasAttributes())for(let h of r.getAttributeNames())if(h.endsWith(ft)){let u=g[l++],$=r.getAttribute(h).split(V),N=/([.?@])?(.*)/.exec(u);p.push({type:1,index:o,name:N[2],strings:$,ctor:N[1]==="."?Ke:N[1]==="?"?Fe:N[1]==="@"?We:se}),r.removeAttribute(h)}else h.startsWith(V)&&(p.push({type:6,index:o}),r.removeAttribute(h));if(sn.test(r.tagName)){let h=r.textContent.split(V),u=h.length-1;if(u>0){r.textContent=ze?ze.emptyScript:"";for(let $=0;$<u;$++)r.append(h[$],Se()),X.nextNode(),p.push({type:2,index:++o});r.append(h[u],Se())}}}else if(r.nodeType===8)if(r.data===yt)p.push({type:2,index:o});else{let h=-1;for(;(h=r.data.indexOf(V,h+1))!==-1;)p.push({type:7,index:o}),h+=V.length-1}o++}}static createElement(e,t){let s=ee.createElement("template");return s.innerHTML=e,s}};function ne(n,e,t=n,s){if(e===te)return e;let r=s!==void 0?t._$Co?.[s]:t._$Cl,o=Ie(e)?void 0:e._$litDirective$;return r?.constructor!==o&&(r?._$AO?.(!1),o===void 0?r=void 0:(r=new o(n),r._$AT(n,t,s)),s!==void 0?(t._$Co??=[])[s]=r:t._$Cl=r),r!==void 0&&(e=ne(n,r._$AS(n,e.values),r,s)),e}var je=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:s}=this._$AD,r=(e?.creationScope??ee).importNode(t,!0);X.currentNode=r;let o=X.nextNode(),l=0,d=0,p=s[0];for(;p!==void 0;){if(l===p.index){let m;p.type===2?m=new de(o,o.nextSibling,this,e):p.type===1?m=new p.ctor(o,p.name,p.strings,this,e):p.type===6&&(m=new Ve(o,this,e)),this._$AV.push(m),p=s[++d]}l!==p?.index&&(o=X.nextNode(),l++)}return X.currentNode=ee,r}p(e){let t=0;for(let s of this._$AV)s!==void 0&&(s.strings!==void 0?(s._$AI(e,s,t),t+=s.strings.length-2):s._$AI(e[t])),t++}},de=class n{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,s,r){this.type=2,this._$AH=c,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=s,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=ne(this,e,t),Ie(e)?e===c||e==null||e===""?(this._$AH!==c&&this._$AR(),this._$AH=c):e!==this._$AH&&e!==te&&this._(e):e._$litType$!==void 0?this.$(e):e.nodeType!==void 0?this.T(e):nn(e)?this.k(e):this._(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==c&&Ie(this._$AH)?this._$AA.nextSibling.data=e:this.T(ee.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:s}=e,r=typeof s=="number"?this._$AC(e):(s.el===void 0&&(s.el=Pe.createElement(rn(s.h,s.h[0]),this.options)),s);if(this._$AH?._$AD===r)this._$AH.p(t);else{let o=new je(r,this),l=o.u(this.options);o.p(t),this.T(l),this._$AH=o}}_$AC(e){let t=tn.get(e.strings);return t===void 0&&tn.set(e.strings,t=new Pe(e)),t}k(e){bt(this._$AH)||(this._$AH=[],this._$AR());let t=this._$AH,s,r=0;for(let o of e)r===t.length?t.push(s=new n(this.O(Se()),this.O(Se()),this,this.options)):s=t[r],s._$AI(o),r++;r<t.length&&(this._$AR(s&&s._$AB.nextSibling,r),t.length=r)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let s=Jt(e).nextSibling;Jt(e).remove(),e=s}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},se=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,s,r,o){this.type=1,this._$AH=c,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=o,s.length>2||s[0]!==""||s[1]!==""?(this._$AH=Array(s.length-1).fill(new String),this.strings=s):this._$AH=c}_$AI(e,t=this,s,r){let o=this.strings,l=!1;if(o===void 0)e=ne(this,e,t,0),l=!Ie(e)||e!==this._$AH&&e!==te,l&&(this._$AH=e);else{let d=e,p,m;for(e=o[0],p=0;p<o.length-1;p++)m=ne(this,d[s+p],t,p),m===te&&(m=this._$AH[p]),l||=!Ie(m)||m!==this._$AH[p],m===c?e=c:e!==c&&(e+=(m??"")+o[p+1]),this._$AH[p]=m}l&&!r&&this.j(e)}j(e){e===c?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??"")}},Ke=class extends se{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===c?void 0:e}},Fe=class extends se{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==c)}},We=class extends se{constructor(e,t,s,r,o){super(e,t,s,r,o),this.type=5}_$AI(e,t=this){if((e=ne(this,e,t,0)??c)===te)return;let s=this._$AH,r=e===c&&s!==c||e.capture!==s.capture||e.once!==s.once||e.passive!==s.passive,o=e!==c&&(s===c||r);r&&this.element.removeEventListener(this.name,this,s),o&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},Ve=class{constructor(e,t,s){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=s}get _$AU(){return this._$AM._$AU}_$AI(e){ne(this,e)}},an={M:ft,P:V,A:yt,C:1,L:on,R:je,D:nn,V:ne,I:de,H:se,N:Fe,U:We,B:Ke,F:Ve},es=gt.litHtmlPolyfillSupport;es?.(Pe,de),(gt.litHtmlVersions??=[]).push("3.3.3");var ln=(n,e,t)=>{let s=t?.renderBefore??e,r=s._$litPart$;if(r===void 0){let o=t?.renderBefore??null;s._$litPart$=r=new de(e.insertBefore(Se(),o),o,void 0,t??{})}return r._$AI(n),r};var $t=globalThis,U=class extends W{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=ln(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return te}};U._$litElement$=!0,U.finalized=!0,$t.litElementHydrateSupport?.({LitElement:U});var ts=$t.litElementPolyfillSupport;ts?.({LitElement:U});($t.litElementVersions??=[]).push("4.2.2");var dn=n=>(...e)=>({_$litDirective$:n,values:e}),Ye=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,s){this._$Ct=e,this._$AM=t,this._$Ci=s}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}};var{I:fi}=an;var ns={},cn=(n,e=ns)=>n._$AH=e;var pn=dn(class extends Ye{constructor(){super(...arguments),this.key=c}render(n,e){return this.key=n,e}update(n,[e,t]){return e!==this.key&&(cn(n),this.key=e),t}});var hn=`/* The only style sheet of the console. A page of the owner can set the variables --latchkey-… (infra/docs/console.md). The parameter
   Accent sets --accent-of-product. */
:root, :host {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #0e1014);
  --card: var(--latchkey-card, light-dark(#ffffff, #16191f));
  --raised: color-mix(in srgb, var(--text) 5%, var(--card));
  --border: var(--latchkey-border, light-dark(#dfe3ea, #2a2f39));
  --radius: var(--latchkey-radius, 8px);
  --strong-border: light-dark(#c3cad6, #3d4451);
  --text: var(--latchkey-text, light-dark(#171b24, #e7eaf0));
  --faint: light-dark(#5a6373, #9aa3b2);
  /* --fill is the given accent. --on-fill is black or white, by the luminance of --fill, with a contrast of at least 4.57:1. --accent
     is --fill, made darker or lighter until text of this colour has a contrast of 4.5:1 on every background here. */
  --fill: var(--latchkey-accent, var(--accent-of-product, light-dark(#3d52d5, #93a4ff)));
  --on-fill: color(from var(--fill) xyz-d65 clamp(0, (.17913 - y) * 1e7, .9505) clamp(0, (.17913 - y) * 1e7, 1) clamp(0, (.17913 - y) * 1e7, 1.089));
  --accent: light-dark(
    oklch(from var(--fill) min(l, .505) calc(c * min(1, .505 / l)) h),
    oklch(from var(--fill) max(l, .743) calc(c * min(1, .257 / (1 - l))) h));
  --accent-soft: light-dark(color-mix(in oklab, var(--accent) 9%, var(--card)), color-mix(in oklab, var(--accent) 18%, var(--card)));
  --good: light-dark(#15703f, #5fd08f);
  --good-soft: light-dark(#e1f4e8, #14301f);
  --wait: light-dark(#855400, #e5b454);
  --wait-soft: light-dark(#fcf0d7, #352a10);
  --bad: light-dark(#b3261e, #ff8f85);
  --bad-soft: light-dark(#fdeae8, #3b1a18);
  --shadow: 0 1px 2px light-dark(#1018280d, #0000);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font: var(--latchkey-font, 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif);
}

*, ::before, ::after { box-sizing: border-box }
[hidden] { display: none !important }
body { margin: 0; background: var(--page); color: var(--text) }
h1, h2, h3, p, dl, dd, ul, ol, figure { margin: 0 }
h1, .title { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere }
h1:focus, dialog h2:focus { outline: none }
h2 { font-size: 1.0625rem; line-height: 1.35 }
h3 { margin: 1.5rem 0 .5rem; font-size: .9375rem }
a { color: var(--accent) }
code, pre { font: .8125rem/1.5 var(--mono) }
code { overflow-wrap: anywhere }
pre { margin: 0; padding: .75rem; overflow: auto; border-radius: var(--radius); background: var(--raised); white-space: pre-wrap;
  overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }

.faint, .sub, .help, .small { color: var(--faint) }
.sub, .help, .small { font-size: .8125rem }
.sub { display: block }
.sub code { font-size: .75rem }
.note { padding: .75rem 1rem; border-radius: var(--radius); background: var(--raised); color: var(--faint); font-size: .875rem }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.boot { padding: 4rem 1rem; text-align: center; color: var(--faint) }
.icon { flex: none; width: 1.125rem; height: 1.125rem; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round;
  stroke-linejoin: round }
.skip { position: fixed; top: -4rem; left: 1rem; z-index: 3; padding: .5rem 1rem; background: var(--card) }
.skip:focus { top: .5rem }

/* Buttons */
button, .button {
  display: inline-flex; align-items: center; justify-content: center; gap: .375rem; min-height: 2.125rem; padding: .25rem .8125rem;
  border: 1px solid var(--strong-border); border-radius: var(--radius); background: var(--card); color: var(--text); font: inherit;
  font-size: .875rem; font-weight: 550; text-decoration: none; white-space: nowrap; cursor: pointer; box-shadow: var(--shadow);
}
button:hover, .button:hover { background: var(--raised) }
button:disabled { opacity: .55; cursor: default }
button .icon { width: 1rem; height: 1rem }
.primary { border-color: color-mix(in srgb, var(--text) 12%, var(--fill)) }
.primary, .primary:hover { background: var(--fill); color: var(--on-fill) }
.primary:hover { border-color: var(--text) }
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
.logo rect { fill: var(--fill) }
.logo g { fill: none; stroke: var(--on-fill); stroke-width: 2.6; stroke-linecap: round; stroke-linejoin: round }
.org-choice { width: auto; min-width: 8rem; max-width: 16rem; text-overflow: ellipsis }
.person { display: flex; align-items: center; gap: .5rem; min-width: 0; margin-inline-start: auto; color: var(--faint); font-size: .875rem }
.person span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.body { display: grid; grid-template-columns: 14.5rem minmax(0, 1fr); max-width: 90rem; margin: 0 auto }
.body.wide { grid-template-columns: minmax(0, 1fr); max-width: 64rem }
.pages > * { display: block }
.pages { min-width: 0; padding: 2rem 2rem 4rem; container-type: inline-size }
.menu { position: sticky; top: 3.5rem; align-self: start; display: grid; gap: .125rem; padding: 2rem 0 2rem 1.25rem }
.menu a { display: flex; align-items: center; gap: .625rem; padding: .4375rem .75rem; border-radius: var(--radius); color: var(--faint);
  font-size: .9rem; font-weight: 500; text-decoration: none; white-space: nowrap }
.menu a:hover { background: var(--raised); color: var(--text) }
.menu a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600 }
.pages section { margin-top: 1.75rem }
.card { border: 1px solid var(--border); border-radius: calc(var(--radius) * 1.5); background: var(--card); box-shadow: var(--shadow) }
.padded { padding: 1.25rem 1.5rem }
.head { display: flex; flex-wrap: wrap; align-items: flex-start; justify-content: space-between; gap: 1rem; margin-bottom: 1.5rem }
.head > :first-child { flex: 1 1 18rem; min-width: 0 }
.head p { margin-top: .25rem; color: var(--faint) }
.head.lesser { margin-bottom: .875rem }
.head.lesser p::first-letter { text-transform: uppercase }
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
h2 > .badge { display: block; margin-bottom: 1rem; padding: .625rem 1rem; border-radius: calc(var(--radius) * 1.25); font-size: .9375rem; white-space: normal }
.plain-page textarea { font: .8125rem/1.5 var(--mono) }
.code { margin-top: .5rem }
.code summary { cursor: pointer; font-weight: 600 }
.code button { margin: .5rem 0 }
.menu .aside { margin-top: 1rem }
.powered { padding: 0 2rem 1.5rem; color: var(--faint); font-size: .75rem; text-align: end }
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
tbody tr:hover td { background: color-mix(in srgb, var(--text) 2%, var(--card)) }
tr:last-child td:first-child { border-end-start-radius: calc(var(--radius) * 1.5) }
tr:last-child td:last-child { border-end-end-radius: calc(var(--radius) * 1.5) }
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
.url { display: -webkit-box; min-width: 15rem; overflow: hidden; font: .8125rem/1.5 var(--mono); -webkit-box-orient: vertical; -webkit-line-clamp: 3 }
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
.problem { margin-top: 1rem; padding: .875rem 1rem; border: 1px solid color-mix(in srgb, var(--bad) 35%, transparent); border-radius: calc(var(--radius) * 1.25);
  background: var(--bad-soft); font-size: .875rem; overflow-wrap: anywhere }
.problem strong { color: var(--bad) }
.problem ul { margin: .375rem 0 0; padding-inline-start: 1.25rem }
.problem button { margin-top: .625rem }
.problem .small { margin-top: .25rem; color: inherit; opacity: .8 }
.start .problem { width: 100%; margin: 0 }
.start .problem p { color: inherit }
.skeleton { display: grid; gap: .75rem; padding: 1.25rem 0 }
.skeleton i { height: 2.75rem; border-radius: calc(var(--radius) * 1.25); background: var(--raised); animation: breathe 1.4s ease-in-out infinite alternate }
.skeleton i:nth-of-type(2) { opacity: .7 }
.skeleton i:nth-of-type(3) { opacity: .4 }
@keyframes breathe { to { background: var(--border) } }
.said { position: fixed; inset: auto 1.25rem 1.25rem auto; z-index: 5; display: grid; gap: .5rem; max-width: min(26rem, 100vw - 2.5rem) }
.said p { padding: .75rem 1rem; border-radius: calc(var(--radius) * 1.25); background: light-dark(#1b2130, #e7eaf0); color: light-dark(#fff, #14171d);
  font-size: .875rem; box-shadow: 0 8px 24px #0004 }
.facts { display: grid; gap: .75rem 2rem; font-size: .875rem }
.facts > div { display: grid; grid-template-columns: minmax(7rem, 11rem) minmax(0, 1fr); gap: 1rem }
.facts dt { color: var(--faint) }
.facts dd { overflow-wrap: anywhere }

/* Forms */
input, select, textarea {
  width: 100%; min-height: 2.25rem; padding: .375rem .6875rem; border: 1px solid light-dark(#8b94a3, #596273); border-radius: var(--radius);
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
.check input { width: 1.0625rem; min-height: 0; height: 1.0625rem; margin: .1875rem 0 0; accent-color: var(--fill) }
.check label { margin: 0 }
.check .help { margin: 0 }

/* Dialogs */
dialog { padding: 0; border: 1px solid var(--border); background: var(--card); color: var(--text); box-shadow: 0 24px 64px #0005 }
dialog::backdrop { background: light-dark(#11182766, #000000a6) }
.modal { width: min(36rem, 100vw - 2rem); max-height: min(52rem, 100dvh - 2rem); border-radius: calc(var(--radius) * 1.75) }
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
  border-radius: calc(var(--radius) * 1.25);
  background: var(--accent-soft); user-select: all }
.payload { max-height: 22rem }
.delivery { padding: .875rem 0; border-top: 1px solid var(--border) }
.delivery-head { display: flex; align-items: center; justify-content: space-between; gap: .75rem; font-size: .875rem;
  overflow-wrap: anywhere }
.delivery-head button:not(.link) { min-height: 1.875rem; font-size: .8125rem }
.delivery summary { padding: .25rem 0; cursor: pointer }
.attempts { display: grid; gap: .5rem; margin-top: .5rem; padding: 0; list-style: none; font-size: .8125rem }
.attempts pre { margin-top: .375rem; padding: .5rem .625rem; font-size: .75rem }

/* Charts */
.chart { margin: 0 0 1.5rem; font-size: .8125rem }
.note + .chart { margin-top: 1.5rem }
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
.chart rect.retried { fill: var(--bad-soft) }
.chart line.hatch { stroke: var(--bad); stroke-dasharray: none }
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
.legend .retried, .badge.retried { background: repeating-linear-gradient(135deg, var(--bad-soft) 0 4px, color-mix(in srgb, var(--bad) 35%, var(--bad-soft)) 4px 5px) }
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
  .menu .aside { margin-top: 0 }
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
  .facts > div { grid-template-columns: 1fr; gap: 0 }
}

@container (max-width: 58rem) {
  .pages .scroll.card { overflow: visible; border: 0; background: none; box-shadow: none }
  .pages table, .pages tbody, .pages td { display: block; min-width: 0; overflow-wrap: anywhere }
  .pages thead { display: none }
  .pages :is(.changes, .chips, .url) { min-width: 0 }
  .pages tbody tr { display: block; margin-bottom: .75rem; padding: .875rem 1rem; border: 1px solid var(--border); border-radius: calc(var(--radius) * 1.5);
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
.reference nav details:not(:has(a:not([hidden]))) { display: none }
.reference nav input { margin-bottom: .75rem }
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
`;var f={base:new URL(".",location.href),isEmbedded:!1,byServices:!1,keyPrefix:"",maxKeyDays:0,supportUrl:null,readSettings:()=>Promise.resolve(),session:null},Je=class{constructor(e,t,s=document.body){this.api=e;this.changed=t;this.home=s;this.orgs=[];this.apps=new Map;this.email=""}async reload(){this.orgs=await this.api.all("orgs","orgs"),this.changed()}async reloadApps(e){this.apps.set(e.id,await this.api.all(`orgs/${e.id}/apps`,"apps")),this.changed()}appName(e,t){return this.apps.get(e.id)?.find(s=>s.id===t)?.name??t}};var ce=(n,e)=>`${n} ${e}${n===1?"":"s"}`,i={powered:"Runs on Latchkey",ago:n=>n<1?"in the last hour":n<48?`${ce(n,"hour")} ago`:`${ce(Math.floor(n/24),"day")} ago`,loading:"Loading…",working:"Working…",more:"Load more",again:"Try again",refresh:"Refresh",close:"Close",cancel:"Cancel",create:"Create",save:"Save",saved:"Saved.",doneNotRead:"It is done, but this page could not be read again",edit:"Edit",rename:"Rename",remove:"Remove",copy:"Copy",csv:"Download CSV",copied:"Copied.",notCopied:"The browser did not let the page copy. Select the text and copy it.",none:"–",name:"Name",id:"Id",app:"App",status:"Status",created:"Created",actions:"Actions",problem:{title:"Something went wrong",status:n=>`The server answered ${n}.`,requestId:"Request id",ended:"The page acts for another person now. Nothing was sent.",unreachable:{title:"No answer",detail:"The server cannot be reached. Check your connection and try again."}},signIn:{title:"You are not signed in",button:"Sign in",signOut:"Sign out",out:"You are signed out",outAbout:"This page no longer has your sign-in.",again:"You signed in again. Please repeat what you were about to do.",kept:"You signed in again. What you had entered is kept: open the form again.",filled:"You had to sign in again. Nothing was sent yet: look at what you entered, and send it.",filledUnsure:"You had to sign in again. Your request may have been done already. Send it again without a change: it is not done twice.",notKept:"A URL can have a secret in it, so it was not kept: enter it again.",unreachable:"The console cannot reach its server. Check your connection and try again.",noConfig:n=>`The console has no settings: the server answered ${n}.`,lost:"The sign-in was begun in another tab, or too long ago. Sign in once more.",refused:n=>`The sign-in did not succeed: ${n}`},held:{secret:"This is not shown again, so only its button closes it.",form:"What you entered would be lost. Use Cancel to close this.",leaveSecret:"This is not shown again. Leave without it?",leaveForm:"Leave? What you entered will be lost."},nav:{menu:"Org",skip:"Skip to the content",org:"Overview",members:"Members",keys:"API keys",links:"Links",endpoints:"Webhook endpoints",deliveries:"Deliveries",events:"Events",audit:"Audit log",reference:"API reference",noOrg:"No such org",noOrgAbout:"There is no such org, or you are not a member of it.",noPage:"Nothing to see here",noPageAbout:"There is no such page, or your role in this org does not open it."},roles:{admin:"manages members, keys and webhooks",member:"sees members, keys, links and events",viewer:"sees only the org"},orgs:{title:"Your orgs",one:"Org",all:"All orgs",about:"An org has members, and apps with API keys, links and webhooks.",oneAbout:"The org and its apps.",create:"New org",createIntro:"You become its admin. It gets a first app.",created:"The org is made.",none:"You are in no org yet",noneAbout:"Make one to create API keys, or ask an admin to add you to theirs.",noneByServices:"Ask an admin of an org to add you.",role:"Role",addedBy:"Added by",externalId:"External id",allowance:"Allowance of all keys",plan:"Plan",suspended:"This org is suspended since",suspendedAbout:"Its API keys are refused. You can see what it has and end it, but make nothing new and extend nothing.",askSupport:"Ask for help",viewer:"You are a viewer of this org. An admin can give you another role.",rename:"Rename org",leave:"Leave org",leaveIntro:"You lose access at once. An org keeps at least one admin.",left:"You left the org.",delete:"Delete org",deleteIntro:"All its API keys stop working at once, and its apps, links and webhooks end. This cannot be undone.",typeName:"To confirm, type the name of the org:",otherName:"This is not the name of the org.",deleted:"The org is deleted."},apps:{title:"Apps",about:"An app owns API keys, links and webhook endpoints.",create:"New app",createIntro:"Make an app for each product or environment, such as staging.",rename:"Rename app",default:"default",keysBeginWith:"Its API keys begin with",keysBeginWithHelp:n=>`${n}, or ${n} and more letters or digits.`},members:{title:"Members",about:"The people of this org, and what they may do.",person:"Person",joined:"Joined",you:"you",add:"Add member",addSubmit:"Add",addIntro:"The person must have signed in here once, with this email verified.",email:"Email",added:"The member is added.",role:"Role",changeRole:"Change role",remove:"Remove member",removeIntro:"They lose access at once. API keys that they made stay good until you revoke them. The next form offers this.",removed:"The member is removed.",keys:"API keys that they made",revoke:"Revoke the ticked keys",keysRevoked:"The keys are revoked.",keysIntro:"The member is removed, and may have copied these keys. Tick the keys to revoke: they are refused at once.",noneTicked:"Tick the keys to revoke, or cancel to keep all of them."},keys:{title:"API keys",about:"What your servers send to prove who they are.",key:"Key",create:"New API key",unnamed:"Unnamed key",none:"No API keys yet",noneAbout:"Create a key, put it in place of $KEY, and send a first request:",noneMember:"An admin of this org can create one.",nameHelp:"Helps you to recognise the key.",expires:"Expires",ends:"Rotated: ends",never:"Never",lastUsed:"Last used",neverUsed:"Never",by:"by",byService:"a service of the owner",search:"Search",use:"Use",anyUse:"All keys",unused:"Not used for 90 days",noneShown:"No key matches.",today:n=>`${n} requests today (UTC)`,days:n=>`After ${ce(n,"day")}`,hours:n=>`After ${ce(n,"hour")}`,scopes:"Scopes",scopesHelp:"What the key may do at the endpoints that accept it, separated by spaces.",metadata:"Metadata",metadataName:"Name",metadataValue:"Value",metadataAdd:"Add a value",metadataHelp:"Passed to the endpoints with each request of the key; at most 1 KB.",limits:"Limits",per:n=>`per ${n}`,limit:(n,e)=>`${n} per ${e}`,limitsHelp:"How many requests are let through; at most three of the four. Empty is no limit.",ceilings:"Ceilings",ceilingsHelp:"Set by the owner of this service. Limits and ceilings both apply.",shownTitle:"Your new API key",shownIntro:"Copy it now and keep it safe. It is shown only this once.",leaked:"found in public",leakedAt:"The text of this key was found in public:",leakedTitle:"The texts of API keys were found in public. Anyone with the text of a key can use the key until you revoke it:",stillGood:"still good",isDead:"no longer good",locator:"Locator",copyLocator:"Copy for support",copyKey:"Copy key",shownDone:"I have saved the key",try:"Try it",details:"API key",edit:"Edit API key",revokedAt:"Revoked",rotatedTo:"Replaced by",rotate:"Rotate",rotateTitle:"Rotate API key",rotateIntro:"A new key takes its place, with the same name, app, scopes, metadata and limits.",asBefore:"After the same time as the old key",newExpires:"The new key expires",neverAsBefore:"Never, like the old key",grace:"The old key ends",graceNone:"At once",graceHelp:"Until then both keys work.",endsIn:n=>`ends in ${n}`,revoke:"Revoke",revokeTitle:"Revoke API key",revokeIntro:"Every request with this key is refused at once. This cannot be undone.",alsoEndpoints:"Also disable its endpoints",alsoEndpointsHelp:"Webhook endpoints that the key made or set. If not, they go on getting events.",alsoLinks:"Also revoke its links",alsoLinksHelp:"Pending links that the key made. If not, they can still be claimed.",endMade:"End what it made",endMadeIntro:"The key is refused already. What it made goes on until you end it.",endEndpoints:"Disable its endpoints",endEndpointsHelp:"Webhook endpoints that the key made or set.",endLinks:"Revoke its links",endLinksHelp:"Pending links that the key made.",noneTicked:"Tick what to end, or cancel.",endpointsEnded:"Its endpoints are disabled; an admin can enable them.",linksEnded:"Its pending links can no longer be claimed; the list shows it within minutes.",keyRevoked:"The key is revoked.",endpointsStay:"Endpoints that it made or set are as they were.",linksStay:"Links that it made can still be claimed."},usage:{title:"Requests in the last 30 days (UTC)",requests:"Requests",atMost:"At most",day:"Day",limit:n=>`Limit of ${n} a day`,life:"Life of the key",now:"now",none:"No requests were counted for this key in the last 30 days. The requests of a key without limits are counted only if the deployment counts all keys.",together:"If the org has an allowance, it is counted for all its keys together; its admins see how much is used.",ofOrg:(n,e,t)=>`All keys of the org share an allowance of ${n}. Counted for the org as a whole: ${e} requests today, ${t} this month (UTC).`,asWhole:"This key has no limits: its requests are counted for the whole org.",month:"Use in this month",byDay:"Requests by day (UTC)",today:(n,e)=>`${n} of ${e} today, resets at 00:00 UTC`,ofMonth:(n,e)=>`${n} of ${e} this month, resets on the first of the next month at 00:00 UTC`,refused:"Refused requests",why:"At least, and why",refusedAbout:"Requests with the right text of this key, or of a key that it replaced. The newest may be missing.",org:"Use",orgAbout:"The requests of the API keys of this org.",byKey:"Requests by API key in this month (UTC)",nothing:"Nothing is counted",nothingAbout:"There were no requests in this month, or neither the org nor its keys have a limit.",from:(n,e)=>`${n} to ${e}`,atLeast:n=>`at least ${n}`},chart:{table:"Show as a table",above:"above the chart"},catalogue:{other:"Others",strange:"Not in the catalogue",unsent:"Nothing sends this type",every:"Every type of event",type:"Type",example:"Send example",exampleShort:"Example",exampleIntro:'The endpoint gets an event of this type with "test": true, so that your receiver can ignore it.'},links:{title:"Links",about:"Invitations that your server made, each for one device of a user.",user:"User",device:"Device",expires:"Expires",ended:"Claimed or revoked",none:"No links yet",noneAbout:"Your server makes one with an API key of this app:",revoke:"Revoke link",revokeShort:"Revoke",revokeIntro:"It can no longer be claimed.",revoked:"The link is revoked."},endpoints:{title:"Webhook endpoints",one:"Webhook endpoint",about:"Where the events of this app are sent.",url:"URL",events:"Events",eventsHelp:"Types separated by spaces. * is every type; link.* is every type that begins with link.",description:"Description",create:"New endpoint",createIntro:"It gets each event as a signed POST. Verify the signature before you trust it.",created:"The endpoint is made.",none:"No webhook endpoints yet",noneAbout:"Register a URL of your server. It gets an event when links, keys and more change.",enabled:"enabled",disabled:"disabled",failing:"failing",since:"since",paused:"Paused until",reasons:{admin:"by an admin",user:"with an API key",gone:"it answered 410",failing:"it failed for 5 days"},test:"Send test event",testShort:"Test",tested:"A test event is on its way.",enable:"Enable endpoint",enableShort:"Enable",enableIntro:"Deliveries that are held go on.",disable:"Disable endpoint",disableShort:"Disable",disableIntro:"No new attempt begins. Deliveries are held until an admin enables the endpoint.",delete:"Delete endpoint",deleteIntro:"Waiting deliveries are cancelled. This cannot be undone.",deleted:"The endpoint is deleted.",held:"Held deliveries",createdBy:"Made by",setBy:"URL or events set by",admin:"an admin",last:"Last deliveries",hours:n=>`Deliveries of the last ${n} hours`,hour:"Hour",bounded:"There were more than 500: the bars show the newest of them.",quiet:n=>`No event of the last ${n} hours is for this endpoint.`},events:{title:"Events",one:"Event",about:"What happened in this app, kept for 30 days. An event is listed 10 seconds after it happened.",type:"Type",at:n=>`When (${n})`,payload:"Payload",since:"Since",every:"Every type",hour:"the last hour",day:"the last 24 hours",week:"the last 7 days",month:"the last 30 days",noneOfType:"No event in this time has this type.",older:"Older",noneYet:"None of the loaded events has this type.",hidden:"Only admins see the payload of this event.",none:"No events in this time",noneAbout:"Events appear when links are claimed, keys change, or an endpoint is tested."},deliveries:{title:"Deliveries",delivered:"Delivered",failed:"Failed",waiting:"Waiting",again:"Send again",allAgain:"Send failed again",allIntro:"Sends every failed delivery to one endpoint since a time once more.",attempts:n=>ce(n,"attempt"),next:"next",at:"delivered",took:n=>`${n} ms`,noAttempt:"No attempt yet.",none:"No endpoint gets this event.",bounded:"Only the first deliveries are shown.",paused:"the endpoint is paused",every:"Every state",noneLike:"No delivery has this state.",noneYet:"None of the newest deliveries has this state. Older ones may.",nothing:"No deliveries in the last 30 days.",all:"All deliveries",retried:"Failed, to be tried again",queued:n=>n===0?"Nothing to send again.":`${n===1?"One delivery":`${n} deliveries`} will be sent again.`},audit:{title:"Audit log",about:"Who did what in this org. Entries are kept for 400 days.",what:"Action",who:"By",target:"Target",changes:"Changes",service:"service",holder:"someone with its text",source:"found at",every:"All",none:"No entries",noneAbout:"What members and keys do appears here.",noneSuch:"No matching entries",noneYet:"None of the newest entries matches. Older ones may.",targetId:"Target id",from:"From",to:"Until",actions:{"org.created":"Org made","org.updated":"Org changed","org.suspended":"Org suspended","org.resumed":"Org resumed","org.deleted":"Org deleted","user.stopped":"Person stopped","user.resumed":"Person no longer stopped","user.signed_out":"Person signed out","user.erased":"Person erased","member.added":"Member added","member.role_changed":"Role changed","member.removed":"Member removed","member.left":"Member left","key.created":"API key made","key.imported":"API key imported","key.updated":"API key changed","key.rotated":"API key rotated","key.revoked":"API key revoked","key.leaked":"API key leaked","key.links_revoked":"Links of an API key revoked","app.created":"App made","app.updated":"App changed","endpoint.created":"Endpoint made","endpoint.updated":"Endpoint changed","endpoint.deleted":"Endpoint deleted","endpoint.tested":"Endpoint tested","endpoint.redelivered":"Deliveries sent again","link.revoked":"Link revoked"},names:{expiresAt:"expires",revokedAt:"revoked",suspendedAt:"suspended",rotatedTo:"replaced by",appId:"app",externalId:"external id",keysBeginWith:"keys begin with",disabledReason:"disabled because"},types:{user:"user",api_key:"API key",org:"org",key:"API key",app:"app",link:"link",endpoint:"endpoint"}},verify:{title:"Verify a webhook",about:"See what a receiver checks. Of what you paste, only the kid leaves this page, to fetch its public key.",pasted:"Webhook",pastedHelp:"Its body, or the whole request with its headers.",endpoint:"Endpoint id",endpointHelp:"The id of your endpoint: whe_… A receiver must compare it.",issuer:"Issuer",issuerHelp:"Usually the base URL of the API.",button:"Verify",result:"Result",why:"What was seen",check:"Check",key:"Public key",event:"Event",code:"A receiver",codeAbout:"Each of these receivers makes these checks.",good:"This webhook is genuine.",bad:"A receiver refuses this webhook.",old:"This webhook was genuine when it was sent. A receiver refuses it now, because an attacker could have sent it again.",open:"Every check so far passed. Enter the endpoint id and the issuer to make the other checks.",results:{passed:"passed",failed:"failed",open:"not tried"},checks:{form:"Form",header:"Header",key:"Key",signature:"Signature",audience:"Audience",issuer:"Issuer",times:"Times",event:"Event"},says:{form:"It has three parts in base64url, and its objects are JSON.",tooLong:"It is longer than 256 KB.",parts:n=>`It has ${ce(n,"part")} between its dots; a webhook has three.`,notBase64:"A part is not base64url (RFC 4648), or not in its only valid form.",noJson:"A part is not JSON in UTF-8.",noObject:"A part is JSON, but not an object.",twice:"An object has the same member twice.",header:"alg is ES256, typ is webhook+jwt, and there is no crit.",alg:n=>`alg is ${n}, not "ES256".`,typ:n=>`typ is ${n}, not "webhook+jwt".`,crit:"The header has crit: it may require an extension that the receiver does not know.",kid:"kid is not the base64url of 32 bytes.",key:"The key is known, and was not retired when this was signed.",unknownKey:"No key has this kid.",revokedKey:"The key was revoked: do not trust what it signed.",retiredKey:"The key had been retired when this was signed.",noKey:"The API returned no usable public key for it.",noAnswer:n=>`The key cannot be looked up now (${n}).`,signature:"The key signed exactly these bytes.",notSigned:"The key did not sign these bytes.",notTried:"It was not tried, because an earlier check failed.",audience:"It is for your endpoint.",anyAudience:n=>`It is for ${n}. Is this your endpoint?`,otherAudience:n=>`aud is ${n}, not your endpoint.`,issuer:"It is from your issuer.",anyIssuer:n=>`It is from ${n}.`,otherIssuer:n=>`iss is ${n}, not your issuer.`,times:"It was signed in the last five minutes, and has not expired.",noTime:"iat or exp is not a whole number of seconds.",notYet:n=>`It was signed in the future: ${n}.`,tooOld:n=>`It was signed at ${n}, more than five minutes ago.`,event:"The event has an id, a type, a time and data.",noEvent:"There is no event.",noMember:n=>`The event has no ${n}.`,missing:"missing"}}};var M=class extends Error{constructor(t){super(t.detail);this.body=t}},is=()=>new M({...i.problem.unreachable,status:0,code:"unreachable",requestId:""});async function rs(n){let e=await crypto.subtle.digest("SHA-256",new TextEncoder().encode(n));return[...new Uint8Array(e)].map(t=>t.toString(16).padStart(2,"0")).join("")}var mn=new Set;var Ge=class{constructor(e){this.session=e}#e=!1;get hasEnded(){return this.#e}end(){this.#e=!0}get(e,t){return this.#t("GET",e,{query:t})}csv(e,t){return this.#t("GET",e,{query:t,accept:"text/csv"})}patch(e,t){return this.#t("PATCH",e,{body:t})}delete(e,t){return this.#t("DELETE",e,{query:t})}post(e,t){return this.#t("POST",e,{body:t})}async create(e,t,s){return this.#t("POST",e,{body:t,once:await rs(`${s.get("once")}${JSON.stringify(t)}`)})}async list(e,t,s){let r=await this.get(e,s);return{items:r[t],nextCursor:r.nextCursor}}async all(e,t,s={}){let r=await this.list(e,t,s),o=r.items;for(;r.nextCursor;)r=await this.list(e,t,{...s,limit:100,cursor:r.nextCursor}),o.push(...r.items);return o}async#t(e,t,s,r=!1){let o=new URLSearchParams;for(let[h,u]of Object.entries(s.query??{}))u!==void 0&&o.set(h,String(u));let l={Authorization:`Bearer ${await this.session.token()}`};if(this.#e)throw new Error(i.problem.ended);s.body!==void 0&&(l["Content-Type"]="application/json"),s.once&&(l["Idempotency-Key"]=s.once),s.accept&&(l.Accept=s.accept);let d=new URL(`v1/${t}${o.size?`?${o}`:""}`,f.base),p=s.body===void 0?void 0:JSON.stringify(s.body),m=Ce(d,{method:e,headers:l,body:p,cache:"no-store",credentials:"omit",redirect:"error"});e!=="GET"&&(mn.add(m),m.then(()=>mn.delete(m)));let g=await m;if(!(g instanceof M))return g;if(g.body.status===401){let h=Date.now()-this.session.startedAt<6e4,u=g.body.code==="token_ended";if((u||g.body.code==="insufficient_user_authentication")&&!r&&!(h&&this.session.again))return await this.session.signIn(g.body.maxAge??0,u),this.#t(e,t,s,!0);if(["token_expired","token_invalid"].includes(g.body.code)&&!r){if(await this.session.renew())return this.#t(e,t,s,!0);h||await this.session.signIn()}}throw g}},os=n=>n.headers?.Accept==="text/csv";async function Ce(n,e){try{let t=await fetch(n,e);if(t.ok)return t.status===204?void 0:await(os(e)?t.text():t.json());let s=await t.json().catch(()=>null);return new M({title:i.problem.title,detail:i.problem.status(t.status),code:"unknown",requestId:"",...s,status:t.status})}catch{return is()}}function kt(n,e="$KEY",t=""){let s=`curl -X POST ${new URL(n,f.base)} -H "Authorization: Bearer ${e}"`;return t?`${s} -H "Content-Type: application/json" -d '${t}'`:s}var as=["text","email","number","checkbox","select-one","textarea","hidden"],ls=n=>[...n.elements].filter(e=>e.name),ds=n=>n.type==="checkbox",cs=n=>as.includes(n.type);function un(n,{fields:e}){for(let t of ls(n).filter(s=>cs(s)&&!s.name.startsWith("pair-"))){let s=e.find(([r])=>r===t.name)?.[1];ds(t)?t.checked=s!==void 0:s!==void 0&&(!(t instanceof HTMLSelectElement)||[...t.options].some(r=>r.value===s))&&(t.value=s)}}var pe=null,gn=n=>n!==null&&n.at<=Date.now()&&Date.now()-n.at<9e5;function fn(n){if(!gn(pe)||pe.entered.form!==n)return null;let{entered:e}=pe;return pe=null,e}function z(n,e){gn(pe)&&pe.entered.form===n&&e()}var R=class extends U{constructor(){super(...arguments);this.appId=""}static{this.properties={person:{attribute:!1},org:{attribute:!1},appId:{attribute:!1}}}createRenderRoot(){return this}firstUpdated(){!f.isEmbedded&&!document.querySelector("lk-dialog")&&this.querySelector("h1")?.focus({preventScroll:!0})}get api(){return this.person.api}get isAdmin(){return this.org.role==="admin"}get path(){return`orgs/${encodeURIComponent(this.org.id)}`}get appPath(){return`${this.path}/apps/${encodeURIComponent(this.appId)}`}},ps=/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,k=n=>n.replace(ps,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,"0")}`),w=n=>a`<bdi>${k(n)}</bdi>`,Qe=n=>k(JSON.stringify(n,null,2)),hs=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"short"}),yn=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"medium"}),ms=new Intl.NumberFormat("en-GB"),A=n=>ms.format(n),J=a`<span class="faint">${i.none}</span>`;function _(n,e=J,t=hs){if(!n)return a`<span class="faint">${e}</span>`;let s=new Date(n).toISOString();return a`<time datetime=${s} title=${s}>${t.format(n)}</time>`}function Ze(n,e){if(!n)return a`<span class="faint">${e}</span>`;let t=Math.floor((Date.now()-n)/36e5);return a`<time datetime=${new Date(n).toISOString()} title=${new Date(n).toISOString()}>${i.ago(t)}</time>`}var bn=n=>n.suspendedAt?a`
  <p class="note alarm">${i.orgs.suspended} ${_(n.suspendedAt)}. ${i.orgs.suspendedAbout}
    ${f.supportUrl?a`<a href=${f.supportUrl} target="_blank" rel="noopener">${i.orgs.askSupport}</a>`:c}</p>`:c,K=n=>_(n,J,yn),ie=()=>yn.resolvedOptions().timeZone;function us(n){let e=Math.max(0,Math.ceil((n-Date.now())/1e3)),t=[[86400,"d"],[3600,"h"],[60,"min"],[1,"s"]],s=t.findIndex(([d])=>e>=d);if(s<0)return"0 s";let[r,o]=[t[s],t[s+1]],l=o?Math.floor(e%r[0]/o[0]):0;return`${Math.floor(e/r[0])} ${r[1]}${o&&l?` ${l} ${o[1]}`:""}`}var wt=class extends U{constructor(){super(...arguments);this.until=0;this.#e=0}static{this.properties={until:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=window.setInterval(()=>this.requestUpdate(),1e3)}disconnectedCallback(){super.disconnectedCallback(),clearInterval(this.#e)}render(){return i.keys.endsIn(us(this.until))}};customElements.define("lk-left",wt);var gs={active:"good",enabled:"good",delivered:"good",claimed:"good",pending:"wait",held:"wait",replaced:"wait",failed:"bad",revoked:"bad",disabled:"bad",admin:"accent",service:"accent"},O=(n,e=gs[n]??"quiet")=>a`<span class="badge ${e}">${n}</span>`,C=n=>a`<code>${k(n)}</code>`,he=n=>n.map(e=>i.keys.limit(A(e.requests),e.per)).join(", "),me=n=>async e=>{let t=e.currentTarget;if(!t.dataset.busy){t.dataset.busy="1";try{await n()}finally{delete t.dataset.busy}}},vn=n=>n instanceof M&&n.body.status>=400&&n.body.status<500,ue=n=>n instanceof M&&[404,409,410].includes(n.body.status);function E(n,e){let t=n instanceof M?n.body:null;return a`
    <div class="problem" role="alert">
      <strong>${t?.title??i.problem.title}</strong>
      <p>${k(t?.detail??String(n))}</p>
      ${t?.errors?.length?a`
        <ul>${t.errors.map(s=>a`<li><code>${k(s.pointer)}</code> ${k(s.message)}</li>`)}</ul>`:c}
      ${t?.requestId?a`<p class="small">${i.problem.requestId} <code>${t.requestId}</code></p>`:c}
      ${e?a`<button @click=${e}>${i.again}</button>`:c}
    </div>`}function D(n,e,t){return a`
    <div class="scroll card" role="region" tabindex="0" aria-label=${n}>
      <table role="table" aria-label=${n}>
        <thead role="rowgroup"><tr role="row">
          ${e.map(s=>a`<th role="columnheader" scope="col" class=${s.kind??""}>${s.kind==="actions"?a`<span class="sr">${s.label}</span>`:s.label}</th>`)}
        </tr></thead>
        <tbody role="rowgroup">${t.map(s=>a`
          <tr role="row">${e.map(r=>a`
            <td role="cell" class=${r.kind??""} data-label=${r.kind?"":r.label}>${r.cell(s)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`}var q=(n,e,t=c)=>a`
  <div class="head">
    <div>${f.isEmbedded?a`<h2 class="title">${n}</h2>`:a`<h1 tabindex="-1">${n}</h1>`}<p>${e}</p></div>
    <div class="actions">${t}</div>
  </div>`,Xe=(n,e)=>n.find(t=>t.id===e)??n.find(t=>t.isDefault)??n[0];function $n(n,e,t){return n.length<2?c:a`
    <div class="app-choice"><label for="app">${i.app}</label>
      <select id="app" @change=${s=>t(s.target.value)}>${n.map(s=>a`
        <option value=${s.id} .selected=${s===e}>${k(s.name)}</option>`)}</select></div>`}var H=(n,e,t=c,s="")=>a`
  <div class="empty card">
    ${fe("empty")}<h2>${n}</h2><p>${e}</p>
    ${s?xt(s):c}
    ${t}
  </div>`,xt=n=>a`
  <div class="command"><pre tabindex="0">${n}</pre>${et(n)}</div>`;function et(n,e=i.copy,t=""){return a`<button type="button" class=${t} @click=${async r=>{let o=r.currentTarget;try{await navigator.clipboard.writeText(n)}catch{return v(i.notCopied)}v(i.copied),o.classList.add("done"),setTimeout(()=>o.classList.remove("done"),1500)}}>${fe("copy")}${e}</button>`}function kn(n,e){let t=document.createElement("a");t.href=URL.createObjectURL(new Blob([e],{type:"text/csv"})),t.download=n,t.click(),setTimeout(()=>URL.revokeObjectURL(t.href),1e3)}function v(n){window.dispatchEvent(new CustomEvent("lk-announce",{detail:n}))}var tt=n=>v(n instanceof Error?n.message:String(n)),ge=n=>a`
  <dl class="facts">${n.map(([e,t])=>a`<div><dt>${e}</dt><dd>${t}</dd></div>`)}</dl>`,fs={org:x`<path d="M4 21V5l8-2v18M12 9l8 2v10M2 21h20M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17v.01"/>`,members:x`<circle cx="9" cy="8" r="3.5"/>
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5"/>`,keys:x`<circle cx="8" cy="16" r="4.5"/><path d="m11.2 12.8 8.3-8.3M16 8l3.5 3.5"/>`,links:x`<path d="M10 14a4.5 4.5 0 0 0 6.5 0l3-3A4.6 4.6 0 0 0 13 4.5l-1 1M14 10a4.5 4.5 0 0 0-6.5 0l-3 3A4.6 4.6 0 0 0 11 19.5l1-1"/>`,endpoints:x`<path d="M3 12h6M15 12h6"/><circle cx="12" cy="12" r="3"/><path d="M18 9l3 3-3 3"/>`,events:x`<path d="M3 12h4l3-8 4 16 3-8h4"/>`,audit:x`<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7"/>`,reference:x`<path d="M12 6.5C10 5 7 4.5 3 4.5v14c4 0 7 .5 9 2 2-1.5 5-2 9-2v-14c-4 0-7 .5-9 2zM12 6.5v14"/>`,verify:x`<path d="M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8.5 12l2.5 2.5 4.5-5"/>`,close:x`<path d="M6 6l12 12M18 6 6 18"/>`,copy:x`<rect x="9" y="9" width="11" height="11" rx="2"/>
    <path d="M15 5.5V5a1.5 1.5 0 0 0-1.5-1.5h-8A1.5 1.5 0 0 0 4 5v8a1.5 1.5 0 0 0 1.5 1.5H6"/>`,empty:x`<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5"/>`},fe=n=>a`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${fs[n]}</svg>`;var nt=class extends U{constructor(){super(...arguments);this.options={title:""};this.content=null;this.person=null;this.keep="";this.isTyped=!1;this.isBusy=!1;this.isUnsure=!1;this.#e=ys();this.#t="";this.#n="";this.#s=t=>{this.#t=t.detail,this.requestUpdate()};this.#r=t=>{vs||t.preventDefault()}}#e;#t;#n;#s;#r;get isHeld(){return this.options.secret||this.isTyped||this.isBusy}createRenderRoot(){return this}connectedCallback(){if(super.connectedCallback(),At.add(this),window.addEventListener("lk-announce",this.#s),!this.options.at||f.isEmbedded)return;let[t,s,r,o,l]=location.hash.split("/");this.#n=location.hash===`#/orgs/${this.options.at}`?[t,s,r,o,...l?[l]:[]].join("/"):location.hash,history.replaceState(null,"",`#/orgs/${this.options.at}`)}disconnectedCallback(){super.disconnectedCallback(),At.delete(this),window.removeEventListener("lk-announce",this.#s),window.removeEventListener("beforeunload",this.#r)}firstUpdated(){this.querySelector("dialog")?.showModal(),(this.querySelector("form input:not([type=hidden]), form select, .first")??this.querySelector("h2"))?.focus()}updated(){this.isHeld?window.addEventListener("beforeunload",this.#r):window.removeEventListener("beforeunload",this.#r)}close(){this.querySelector("dialog")?.close(),this.#d()}typed(){this.isTyped=!0,this.requestUpdate()}#i(t){this.isHeld&&(t.preventDefault(),v(this.options.secret?i.held.secret:i.held.form))}#o(t){t.key==="Escape"&&this.#i(t)}#l(){this.isHeld&&this.content?this.querySelector("dialog")?.showModal():this.#d()}#a(t){this.options.drawer&&t.target===t.currentTarget&&this.close()}#d(){if(this.content){this.content=null,this.remove(),this.#n&&location.hash===`#/orgs/${this.options.at}`&&history.replaceState(null,"",this.#n);for(let t of $s.splice(0))t();this.#e?.isConnected?this.#e.focus():document.querySelector("lk-dialog")||document.querySelector("h1")?.focus()}}render(){let{title:t,drawer:s,secret:r}=this.options;return a`
      <dialog class=${s?"drawer":"modal"} aria-labelledby="dialog-title" closedby=${this.isHeld?"none":"closerequest"}
        @close=${this.#l} @cancel=${this.#i} @keydown=${this.#o} @input=${this.typed} @click=${this.#a}>
        <div class="dialog-body">
          <div class="dialog-head">
            <h2 id="dialog-title" tabindex="-1">${t}</h2>
            ${r?c:a`
              <button class="plain" aria-label=${i.close} @click=${this.close}>${fe("close")}</button>`}
          </div>
          ${this.content?.(this)}
          <div class="said" role="status" aria-live="polite">${this.#t?a`<p>${this.#t}</p>`:c}</div>
        </div>
      </dialog>`}};customElements.define("lk-dialog",nt);function ys(){let n=document.activeElement;for(;n?.shadowRoot?.activeElement;)n=n.shadowRoot.activeElement;return n}var Y=()=>f.isEmbedded?"":location.hash.split("/")[5]??"",At=new Set,bs=()=>[...At];function wn(n){for(let e of bs())(!n||e.person===n)&&e.close()}var vs=!1,$s=[];function L(n,e,t){let s=new nt;return s.options=e,s.content=t,s.person=n,n.api.hasEnded||n.home.appendChild(s),s}function st(n,e,t){let s=0,r,o=async(d,p)=>{let[m,g]=await e().then(u=>[u,null],u=>[null,u]);if(d!==s)return r;let h=t(m,g);n().requestUpdate(),h&&p>1&&setTimeout(()=>{d===s&&n().isConnected&&l(p-1)},1500)},l=d=>r=o(++s,d);return l}function S(n,e){let t=null,s=crypto.randomUUID(),r=fn(e.keep);r&&(e.pairs?.restore(r.fields),r.fields=e.choices?.restore(r.fields)??r.fields);let o=async d=>{try{await Promise.all([e.done?.(d),e.list?.load()])}catch(p){L(n,{title:i.doneNotRead},m=>E(p,()=>{m.close(),o(d)}))}},l=L(n,{title:e.title},d=>a`
      <form @submit=${async m=>{if(m.preventDefault(),d.isBusy)return;d.isBusy=!0,t=null,d.requestUpdate();let g;try{g=await e.run(new FormData(m.target))}catch(h){let u=h instanceof M&&h.body.status===404;if(!(e.ends&&d.isUnsure&&u))return t=h,ue(h)&&e.list?.load(),d.isUnsure||=!vn(h),d.isBusy=!1,d.requestUpdate()}d.close(),await o(g)}}>
        <input type="hidden" name="once" .value=${s}>
        ${r?a`<p class="note">${r.isUnsure?i.signIn.filledUnsure:i.signIn.filled}
          ${r.isPart?i.signIn.notKept:c}</p>`:c}
        ${e.intro?a`<div class="intro">${e.intro}</div>`:c}
        ${e.fields?.(d)}
        ${t?E(t):c}
        <footer>
          <button type="button" @click=${()=>d.close()}>${i.cancel}</button>
          <button class=${e.danger?"danger":"primary"} ?disabled=${d.isBusy}>${d.isBusy?i.working:e.submit}</button>
        </footer>
      </form>`);return l.keep=e.keep??"",r&&(l.isTyped=!0,l.isUnsure=r.isUnsure,l.updateComplete.then(()=>un(l.querySelector("form"),r))),l}var B=class{constructor(e,t){this.host=e;this.read=t;this.items=[];this.ready=!1;this.busy=!1;this.error=null;this.#n=0}#e;#t;#n;get isSettled(){return!this.busy&&!this.error}get hasMore(){return this.#e!==void 0}load(){return this.#s(void 0)}more(){return this.busy?Promise.resolve():this.#s(this.#e)}async#s(e){let t=++this.#n;this.busy=!0,this.error=null,this.host.requestUpdate();try{let s=await this.read(e);if(t!==this.#n)return;this.items=e===void 0?s.items:[...this.items,...s.items],this.#e=s.nextCursor,this.ready=!0}catch(s){t===this.#n&&([this.error,this.#t]=[s,e])}t===this.#n&&(this.busy=!1,this.host.requestUpdate())}view(e,t,s=""){let r=this.error?E(this.error,()=>this.#s(this.#t)):c;return this.ready?a`
      ${this.items.length?e(this.items):this.isSettled?t:c}
      ${r}
      ${!this.hasMore||this.error?c:s?a`<button class="more" ?disabled=${this.busy} @click=${()=>this.more()}>${this.busy?i.loading:s}</button>`:a`<lk-more .busy=${this.busy} @more=${()=>this.more()}></lk-more>`}`:this.error?r:F()}},F=()=>a`
  <div class="skeleton" role="status"><span class="sr">${i.loading}</span><i></i><i></i><i></i></div>`,Et=class extends U{constructor(){super(...arguments);this.busy=!1;this.#e=null}static{this.properties={busy:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=new IntersectionObserver(t=>{t.some(s=>s.isIntersecting)&&this.#t()})}disconnectedCallback(){super.disconnectedCallback(),this.#e?.disconnect()}updated(){this.#e?.unobserve(this),this.busy||this.#e?.observe(this)}#t(){this.busy||this.dispatchEvent(new CustomEvent("more"))}render(){return a`<button class="more" ?disabled=${this.busy} @click=${this.#t}>${this.busy?i.loading:i.more}</button>`}};customElements.define("lk-more",Et);var xn=(n,e)=>a`
  <div class="field">
    <label for="f-${n.name}">${n.label}</label>
    ${e}
    ${n.help?a`<p class="help" id="h-${n.name}">${n.help}</p>`:c}
  </div>`,An=n=>n.help?`h-${n.name}`:c,j=n=>xn(n,a`
  <input id="f-${n.name}" @input=${e=>n.typed?.(e.target.value)} name=${n.name} type=${n.type??"text"} .defaultValue=${n.value??""} ?required=${n.required}
    maxlength=${n.max??c} pattern=${n.pattern??c} placeholder=${n.placeholder??c}
    autocomplete="off" spellcheck="false" aria-describedby=${An(n)}
    @change=${e=>n.change?.(e.target.value)}>`),I=n=>xn(n,a`
  <select id="f-${n.name}" name=${n.name} aria-describedby=${An(n)}
    @change=${e=>n.change?.(e.target.value)}>
    ${n.options.map(([e,t])=>a`<option value=${e} .selected=${e===n.value}>${t}</option>`)}
  </select>`),re=(n,e,t)=>a`
  <div class="check">
    <input type="checkbox" id="f-${n}" name=${n} aria-describedby="h-${n}">
    <div><label for="f-${n}">${e}</label><p class="help" id="h-${n}">${t}</p></div>
  </div>`,En=["minute","hour","day","month"],Tt=n=>a`
  <fieldset>
    <legend>${i.keys.limits}</legend>
    <div class="four">${En.map(e=>a`
      <div class="field">
        <label for="f-limit-${e}">${i.keys.per(e)}</label>
        <input id="f-limit-${e}" name="limit-${e}" type="number" min="1" max="1000000000" inputmode="numeric"
          .defaultValue=${String(n.find(t=>t.per===e)?.requests??"")} aria-describedby="h-limits">
      </div>`)}
    </div>
    <p class="help" id="h-limits">${i.keys.limitsHelp}</p>
  </fieldset>`,_t=n=>En.map(e=>({requests:Number(n.get(`limit-${e}`)),per:e})).filter(e=>e.requests>0);function Ue(n){return typeof n!="object"||n===null?JSON.stringify(n):`[${(Array.isArray(n)?n.map(Ue):Object.entries(n).map(([t,s])=>`${Ue(t)}:${Ue(s)}`)).sort().join()}]`}var Tn=(n,e)=>Object.fromEntries(Object.entries(e).filter(([t,s])=>Ue(s)!==Ue(n[t]))),it=n=>n.split(/[\s,]+/).filter(Boolean),St=(n,e)=>it(String(n.get(e)??"")),P=(n,e)=>String(n.get(e)??"").trim(),Me=class{#e;#t;constructor(e){this.#e=Object.entries(e),this.#t=""in e}restore(e){let t=r=>e.filter(([o])=>o===r).map(([,o])=>o),s=t("pair-value");this.#e=t("pair-name").map((r,o)=>[r,s[o]??""])}value(){return Object.fromEntries(this.#e.filter(([e,t])=>e!==""||this.#t&&t!==""))}view(e){let t=(o,l)=>d=>{o[l]=d.target.value},s=o=>{this.#e=this.#e.filter(l=>l!==o),e.typed()},r=async()=>{this.#e.push(["",""]),e.requestUpdate(),await e.updateComplete,e.querySelector(".pair:last-of-type input")?.focus()};return a`
      <fieldset>
        <legend>${i.keys.metadata}</legend>
        ${this.#e.map(o=>a`
          <div class="pair">
            <input name="pair-name" aria-label=${i.keys.metadataName} placeholder=${i.keys.metadataName} .value=${o[0]} @input=${t(o,0)}>
            <textarea name="pair-value" rows="1" aria-label=${i.keys.metadataValue} placeholder=${i.keys.metadataValue} .value=${o[1]}
              @input=${t(o,1)}></textarea>
            <button type="button" class="plain" aria-label=${i.remove} @click=${()=>s(o)}>${fe("close")}</button>
          </div>`)}
        <button type="button" class="small-button" @click=${r}>${i.keys.metadataAdd}</button>
        <p class="help">${i.keys.metadataHelp}</p>
      </fieldset>`}};async function rt(){let n=await Ce(new URL("catalogue.json",f.base),{credentials:"omit",redirect:"error",signal:AbortSignal.timeout(3e3)});return n instanceof M?null:n}function Sn(n,e){let t=[...y,...e.events.map(s=>s.type)];return n==="*"||(n.endsWith(".*")?t.some(s=>s.startsWith(n.slice(0,-1))):t.includes(n))}function _n(n,e){let t=[...e];return[...n.filter(r=>t.includes(r)&&t.splice(t.indexOf(r),1)),...t]}var ye=class{constructor(e,t,s,r){this.name=e;this.offered=t;this.chosen=s;this.isKnown=r;this.#e=s.filter(o=>!t.some(l=>l.name===o)),this.#t=`${e}-order`}#e;#t;restore(e){let t=`${this.name}:`,s=d=>e.filter(([p])=>p===d).flatMap(([,p])=>it(p)),r=e.map(([d])=>d).filter(d=>d.startsWith(t)).map(d=>d.slice(t.length)),o=s(this.name);this.#e=[...r.filter(d=>!this.offered.some(p=>p.name===d)),...o];let l=_n(s(this.#t),[...r,...o]);return[...e.filter(([d])=>d!==this.name&&d!==this.#t),[this.name,this.#e.join(" ")],[this.#t,l.join(" ")]]}of(e){let t=this.offered.map(s=>s.name).filter(s=>e.has(`${this.name}:${s}`));return _n(St(e,this.#t),[...t,...St(e,this.name)])}view(e,t,s){let r=this.#e.filter(o=>!this.isKnown(o));return a`
      <input type="hidden" name=${this.#t}>
      ${this.offered.length?a`<fieldset class="choices"><legend>${t.label}</legend>${this.offered.map(o=>a`
        <div class="check"><input type="checkbox" id="f-${this.name}:${o.name}" name="${this.name}:${o.name}" ?checked=${this.chosen.includes(o.name)}>
          <div><label for="f-${this.name}:${o.name}"><code>${k(o.name)}</code></label><p class="help">${w(o.description)}</p></div>
        </div>`)}</fieldset>`:c}
      ${j({...t,label:this.offered.length?i.catalogue.other:t.label,name:this.name,value:this.#e.join(" "),typed:o=>{this.#e=it(o),e.requestUpdate()}})}
      ${r.length?a`<p class="note">${s}: ${k(r.join(", "))}</p>`:c}`}};var oe=100,ks=n=>n.parts.reduce((e,t)=>e+t.value,0);function Oe(n){let e=Math.max(1,...n.bars.map(l=>Math.max(ks(l),l.shade??0))),t=n.line&&n.line.value<=e*5?n.line:null,s=oe/(Math.max(e,t?.value??0)*1.05),r=n.bars[0]?.parts??[],o=[{label:n.unit,cell:l=>l.label},...r.map((l,d)=>({label:l.name,kind:"number",cell:p=>A(p.parts[d].value)})),...n.shadeName?[{label:n.shadeName,kind:"number",cell:l=>l.shade==null?i.none:A(l.shade)}]:[]];return a`
    <figure class="chart">
      <figcaption>${n.title}<span class="legend">
        ${r.map(l=>a`<span><i class=${l.tone}></i>${l.name}</span>`)}
        ${n.shadeName?a`<span><i class="shade"></i>${n.shadeName}</span>`:c}
        ${n.line?a`<span><i class="line"></i>${n.line.name}${t?"":` (${i.chart.above})`}</span>`:c}
      </span></figcaption>
      <div class="plot">
        <span class="scale">${A(Math.max(e,t?.value??0))}</span>
        <svg viewBox="0 0 ${n.bars.length} ${oe}" preserveAspectRatio="none" role="img" aria-label=${n.title}>
          ${n.bars.map((l,d)=>xs(l,d,s))}
          ${t?x`<line x1="0" x2=${n.bars.length} y1=${oe-t.value*s} y2=${oe-t.value*s}/>`:c}
        </svg>
      </div>
      <div class="ends"><span>${n.bars[0]?.label}</span><span>${n.bars.at(-1)?.label}</span></div>
      <details><summary>${i.chart.table}</summary>${D(n.title,o,[...n.bars].reverse())}</details>
    </figure>`}function In(n,e,t){let s=[...e,t].sort((p,m)=>p.at-m.at),[r,o]=[s[0].at,s.at(-1).at],l=p=>o===r?0:(p-r)/(o-r)*100,d=s.map(p=>`${p.label} ${new Date(p.at).toISOString().slice(0,10)}`).join(", ");return a`
    <figure class="chart">
      <figcaption>${n}</figcaption>
      <svg class="life" role="img" aria-label="${n}: ${d}">
        <line x1="0%" x2="100%" y1="8" y2="8"/><line class="past" x1="0%" x2="${l(t.at)}%" y1="8" y2="8"/>
        ${s.map((p,m)=>x`
          <circle class=${p===t?"now":""} cx="${l(p.at)}%" cy="8" r="5"/>
          <text x="${l(p.at)}%" y=${m>0&&m<s.length-1?42:28} text-anchor=${l(p.at)<50?"start":"end"}>${p.label}</text>`)}
      </svg>
    </figure>`}function ws(n,e,t){return Array.from({length:Math.ceil(t/4)},(s,r)=>x`
    <line class="hatch" x1=${n+.12} x2=${n+.88} y1=${Math.min(e+t,e+r*4+4)} y2=${e+r*4}/>`)}function xs(n,e,t){let s=oe,r=[...n.parts.map(o=>`${o.name} ${A(o.value)}`),...n.shade==null?[]:[`≤ ${A(n.shade)}`]].join(", ");return x`<g><title>${n.label}: ${r}</title>
    <rect class="hit" x=${e} y="0" width="1" height=${oe}/>
    ${n.shade?x`<rect class="shade" x=${e+.12} y=${oe-n.shade*t} width="0.76" height=${n.shade*t}/>`:c}
    ${n.parts.filter(o=>o.value>0).map(o=>{let l=o.value*t;return s-=l,x`<rect class=${o.tone} x=${e+.12} y=${s} width="0.76" height=${l}/>${o.tone==="retried"?ws(e,s,l):c}`})}</g>`}var Pn=n=>n.error??(n.status===null?i.none:`HTTP ${n.status}`),Cn=n=>n.error===null&&n.status!==null&&n.status>=200&&n.status<300,As=n=>a`
  <li>
    ${O(Pn(n),Cn(n)?"good":"bad")} ${K(n.at)}
    <span class="faint">${i.deliveries.took(A(n.durationMs))}</span>
    ${n.body?a`<pre tabindex="0">${k(n.body)}</pre>`:c}
  </li>`,be=n=>n.status==="pending"&&n.lastAttempt!==null&&!Cn(n.lastAttempt);function ot(n,e,t,s=null){let r=n.nextAttemptAt&&Math.max(n.nextAttemptAt,s??0);return a`
    <article class="delivery">
      <div class="delivery-head">
        <div>${O(n.status,be(n)?"bad retried":void 0)} ${e}</div>
        ${t&&n.status!=="pending"?a`<button @click=${me(()=>t(n))}>${i.deliveries.again}</button>`:c}
      </div>
      <details>
        <summary class="small faint">
          ${i.deliveries.attempts(n.attempts)}${n.lastAttempt?`: ${Pn(n.lastAttempt)}`:c}
          ${r?a` · ${i.deliveries.next} ${K(r)}${r>n.nextAttemptAt?` (${i.deliveries.paused})`:c}`:c}
          ${n.deliveredAt?a` · ${i.deliveries.at} ${K(n.deliveredAt)}`:c}
        </summary>
        ${n.lastAttempt?a`<ol class="attempts">${[n.lastAttempt,...n.earlierAttempts].map(As)}</ol>`:a`<p class="small faint">${i.deliveries.noAttempt}</p>`}
      </details>
    </article>`}var at=n=>n.isAdmin?n.api.all(`${n.appPath}/webhook_endpoints`,"endpoints").catch(()=>[]):Promise.resolve([]),Es=(n,e)=>e.find(t=>t.id===n.endpointId)?.pausedUntil??null,It=class extends R{#e=Y();#t="";#n;#s=new B(this,e=>this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:this.#e,status:this.#t||void 0,order:"desc",limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#s.load(),at(this).then(e=>{this.#n=e.find(t=>t.id===this.#e),this.requestUpdate()})}render(){let e=async s=>{let r=await lt(this,s);r&&tt(r),await this.#s.load()},t=this.#s.hasMore?i.deliveries.noneYet:this.#t?i.deliveries.noneLike:i.deliveries.nothing;return a`
      ${q(i.deliveries.title,a`<code>${k(this.#n?.url??this.#e)}</code> <span class="faint">(${ie()})</span>`,a`<button @click=${()=>this.#s.load()}>${i.refresh}</button>`)}
      <div class="filters">${I({label:i.status,name:"status",options:[["",i.deliveries.every],...Ts.map(s=>[s,s])],change:s=>{this.#t=s,this.#s.load()}})}</div>
      ${this.#s.view(s=>s.map(r=>ot(r,a`
        <button class="link" @click=${()=>G(this,r.eventId)}><code>${k(r.eventType)}</code></button> ${K(r.createdAt)}`,e,this.#n?.pausedUntil)),a`<p class="note">${t}</p>`,i.events.older)}`}};customElements.define("lk-deliveries",It);var Ts=["delivered","failed","pending","held"],lt=(n,e)=>n.api.post(`${n.appPath}/webhook_deliveries/redeliver`,{endpointId:e.endpointId,eventId:e.eventId}).then(()=>(v(i.deliveries.queued(1)),null),t=>t);function G(n,e){let t=null,s=null,r=[],o=!1,l=null,d=null,p=st(()=>h,async()=>{t??=await n.api.get(`${n.appPath}/webhook_events/${encodeURIComponent(e)}`);let u=await n.api.list(`${n.appPath}/webhook_deliveries`,"deliveries",{eventId:e});return{page:u,paused:u.items.some($=>$.nextAttemptAt)?await at(n):r}},(u,$)=>(l=$,u?(s=u.page.items,o=u.page.nextCursor!==void 0,r=u.paused,s.length===0||s.some(N=>N.status==="pending"&&N.attempts<2)):!1)),m=()=>p(9),g=async u=>{d=await lt(n,u),h.requestUpdate();let $=m();d||await $},h=L(n.person,{title:i.events.one,drawer:!0,at:`${n.org.id}/events/${n.appId}/${e}`},()=>a`
    ${l||d?E(l??d):c}
    ${t?a`
      ${ge([[i.events.type,C(t.type)],[i.id,C(t.id)],[i.events.at(ie()),K(t.createdAt)]])}
      <h3>${i.events.payload}</h3>
      ${t.data===null?a`<p class="note">${i.events.hidden}</p>`:a`<pre class="payload" tabindex="0">${Qe(t.data)}</pre>`}
      <h3>${i.deliveries.title}</h3>`:c}
    ${s?a`
      ${s.map(u=>ot(u,w(u.endpointOrigin??u.endpointId),n.isAdmin?g:null,Es(u,r)))}
      ${s.length?c:a`<p class="note">${i.deliveries.none}</p>`}
      ${o?a`<p class="small faint">${i.deliveries.bounded}</p>`:c}
      <button @click=${m}>${i.refresh}</button>`:l?c:F()}`);return m(),h}var dt=36e5,_s=20,Ss=5,Re=[24,6,2],Pt=class extends R{#e=Promise.resolve(null);#t=new B(this,e=>this.api.list(`${this.appPath}/webhook_endpoints`,"endpoints",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e=rt(),this.#t.load().then(()=>{z(`${this.appPath}/webhook_endpoints`,()=>this.#s());for(let e of this.#t.items)e.id===Y()&&this.#a(e)})}#n(e){return`${this.appPath}/webhook_endpoints/${encodeURIComponent(e.id)}`}async#s(){let e=await this.#e,t=new ye("events",e?[{name:"*",description:i.catalogue.every},...e.events.map(s=>({...s,name:s.type}))]:[],["*"],s=>!e||Sn(s,e));S(this.person,{title:i.endpoints.create,submit:i.create,intro:i.endpoints.createIntro,keep:`${this.appPath}/webhook_endpoints`,choices:t,fields:s=>a`
        ${j({label:i.endpoints.url,name:"url",type:"url",required:!0,max:2048,placeholder:"https://example.com/hooks"})}
        ${t.view(s,{label:i.endpoints.events,help:i.endpoints.eventsHelp},i.catalogue.unsent)}
        ${j({label:i.endpoints.description,name:"description",max:200})}`,run:s=>this.api.create(`${this.appPath}/webhook_endpoints`,{url:P(s,"url"),events:t.of(s),description:P(s,"description")||null},s),list:this.#t,done:()=>v(i.endpoints.created)})}async#r(e){try{let{eventId:t}=await this.api.post(`${this.#n(e)}/test`);G(this,t),v(i.endpoints.tested)}catch(t){ue(t)&&this.#t.load(),L(this.person,{title:i.endpoints.test},()=>E(t))}}#i(e,t){S(this.person,{title:i.catalogue.example,submit:i.catalogue.example,intro:i.catalogue.exampleIntro,fields:()=>I({label:i.catalogue.type,name:"type",options:t.map(s=>[s.type,s.type])}),run:s=>this.api.create(`${this.#n(e)}/test`,{type:P(s,"type"),data:t.find(r=>r.type===P(s,"type"))?.example},s),list:this.#t,done:({eventId:s})=>{G(this,s),v(i.endpoints.tested)}})}#o(e){let t=!e.enabled;S(this.person,{title:t?i.endpoints.enable:i.endpoints.disable,submit:t?i.endpoints.enable:i.endpoints.disable,danger:!t,intro:a`<p><code>${k(e.url)}</code></p><p>${t?i.endpoints.enableIntro:i.endpoints.disableIntro}</p>`,run:()=>this.api.patch(this.#n(e),{enabled:t}),list:this.#t,done:()=>v(i.saved)})}#l(e){S(this.person,{title:i.endpoints.delete,submit:i.endpoints.delete,danger:!0,ends:!0,intro:a`<p><code>${k(e.url)}</code></p><p>${i.endpoints.deleteIntro}</p>`,run:()=>this.api.delete(this.#n(e)),list:this.#t,done:()=>v(i.endpoints.deleted)})}#a(e){let t=[],s=null,r=0,o=!1,l=0,d=null,p=null,m=(b,T)=>this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:e.id,since:b,order:"desc",limit:100,cursor:T}),g=async()=>{let b=le=>(Math.floor(Date.now()/dt)+1-le)*dt,T=await m(b(Re[0])),xe=T.items;for(let le=1;le<Ss&&T.nextCursor;le++)T=await m(b(Re[0]),T.nextCursor),xe.push(...T.items);let Ae=T.nextCursor?xe.at(-1)?.createdAt??1/0:0,jt=Re.find(le=>b(le)>Ae),Kt=jt??Re[Re.length-1];return{all:xe,span:Kt,bounded:jt===void 0,since:b(Kt)}},h=st(()=>N,async()=>{let b=await this.api.get(this.#n(e)),[T,xe]=await g().then(Ae=>[Ae,null],Ae=>[null,Ae]);return{now:b,read:T,failure:xe}},(b,T)=>(d=T??b?.failure??null,ue(T)&&this.#t.load(),b&&Object.assign(e,b.now),b?.read&&({all:s,span:r,bounded:o,since:l}=b.read),this.requestUpdate(),!ue(T))),u=async b=>{p=await lt(this,b),N.requestUpdate();let T=h(5);p||await T},$=b=>()=>{N.close(),b.call(this,e)},N=L(this.person,{title:i.endpoints.one,drawer:!0,at:`${this.org.id}/endpoints/${this.appId}/${e.id}`},()=>a`
      <p class="intro"><code class="wrap">${k(e.url)}</code></p>
      <div class="row">
        <button ?disabled=${!e.enabled} @click=${$(this.#r)}>${i.endpoints.test}</button>
        ${t.length?a`<button ?disabled=${!e.enabled} @click=${$(()=>this.#i(e,t))}>${i.catalogue.example}</button>`:c}
        <button @click=${$(this.#o)}>${e.enabled?i.endpoints.disable:i.endpoints.enable}</button>
        <button class="danger-text" @click=${$(this.#l)}>${i.endpoints.delete}</button>
      </div>
      ${d||p?E(d??p):c}
      ${s?Is(s,l,r):d?c:F()}
      ${o?a`<p class="small faint">${i.endpoints.bounded}</p>`:c}
      ${ge([[i.status,this.#d(e)],...e.pausedUntil&&e.pausedUntil>Date.now()?[[i.endpoints.paused,_(e.pausedUntil)]]:[],...e.heldCount!==void 0?[[i.endpoints.held,A(e.heldCount)]]:[],[i.endpoints.events,a`<span class="chips">${e.events.map(C)}</span>`],[i.endpoints.description,e.description?w(e.description):i.none],[i.id,C(e.id)],[i.created,_(e.createdAt)],[i.endpoints.createdBy,e.createdByKey?C(e.createdByKey):i.endpoints.admin],...e.urlSetByKey?[[i.endpoints.setBy,C(e.urlSetByKey)]]:[]])}
      <h3>${i.endpoints.last} <span class="faint">(${ie()})</span></h3>
      ${s?.slice(0,_s).map(b=>ot(b,a`
        <button class="link" @click=${()=>G(this,b.eventId)}><code>${k(b.eventType)}</code></button>
        ${K(b.createdAt)}`,u,e.pausedUntil))}
      ${f.isEmbedded?c:a`
        <p><a href="#/orgs/${this.org.id}/deliveries/${this.appId}/${e.id}">${i.deliveries.all}</a></p>`}
      ${s?.length===0?a`<p class="note">${i.endpoints.quiet(r)}</p>`:c}`);h(1),this.#e.then(b=>{t=(b?.events??[]).filter(T=>T.example),N.requestUpdate()})}#d(e){return e.enabled&&e.failingSince?a`${O(i.endpoints.failing,"bad")}<div class="sub">${i.endpoints.since} ${_(e.failingSince)}</div>`:e.enabled?O(i.endpoints.enabled,"good"):a`${O(i.endpoints.disabled,"bad")}
      <div class="sub">${i.endpoints.reasons[e.disabledReason??""]??e.disabledReason}, ${_(e.disabledAt)}</div>`}render(){let e=a`<button class="primary" @click=${this.#s}>${i.endpoints.create}</button>`;return a`
      ${q(i.endpoints.title,i.endpoints.about,this.#t.items.length?e:c)}
      ${this.#t.view(t=>D(i.endpoints.title,[{label:i.endpoints.url,kind:"main",cell:s=>a`
          <button class="link" @click=${()=>this.#a(s)}><span class="url">${k(s.url)}</span></button>
          ${s.description?a`<div class="sub">${w(s.description)}</div>`:c}`},{label:i.endpoints.events,cell:s=>a`<span class="chips">${s.events.slice(0,3).map(C)}${s.events.length>3?a`<span class="faint">+${s.events.length-3}</span>`:c}</span>`},{label:i.status,cell:s=>this.#d(s)},{label:i.created,cell:s=>_(s.createdAt)},{label:i.actions,kind:"actions",cell:s=>a`
          <button ?disabled=${!s.enabled} @click=${me(()=>this.#r(s))}>${i.endpoints.testShort}</button>
          <button @click=${()=>this.#o(s)}>${s.enabled?i.endpoints.disableShort:i.endpoints.enableShort}</button>`}],t),H(i.endpoints.none,i.endpoints.noneAbout,e))}`}};customElements.define("lk-endpoints",Pt);function Is(n,e,t){let s=Array.from({length:t},(r,o)=>{let l=e+o*dt,d=n.filter(u=>u.createdAt>=l&&u.createdAt<l+dt),p=(...u)=>d.filter($=>u.includes($.status)).length,[m,g,h]=[p("delivered"),p("failed"),d.filter(be).length];return{label:new Date(l).toLocaleTimeString("en-GB",{hour:"2-digit",minute:"2-digit"}),parts:[{name:i.deliveries.delivered,tone:"good",value:m},{name:i.deliveries.failed,tone:"bad",value:g},{name:i.deliveries.retried,tone:"retried",value:h},{name:i.deliveries.waiting,tone:"wait",value:d.length-m-g-h}]}});return Oe({title:i.endpoints.hours(t),bars:s,unit:i.endpoints.hour})}var Un=100,Ps=2e3,ve=36e5,Mn=[[`${ve}`,i.events.hour],[`${24*ve}`,i.events.day],[`${168*ve}`,i.events.week],[`${720*ve}`,i.events.month]],Ct=class extends R{#e=`${24*ve}`;#t=0;#n="";#s=new B(this,e=>this.api.list(`${this.appPath}/webhook_events`,"events",{since:this.#t,order:"desc",limit:Un,cursor:e}).then(t=>(this.#o(t.items),t)));#r=new Map;connectedCallback(){super.connectedCallback(),this.#i(),Y()&&G(this,Y()),z(`${this.appPath}/webhook_deliveries/redeliver`,()=>{this.#a()})}#i(){this.#t=Date.now()-Number(this.#e),this.#s.load()}async#o(e){let t=e.at(-1);if(t){for(let{id:s}of await at(this)){let r;do{let o=await this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:s,since:t.createdAt,order:"desc",limit:Un,cursor:r}).catch(()=>({items:[],nextCursor:void 0}));for(let l of o.items)this.#r.set(l.eventId,[...(this.#r.get(l.eventId)??[]).filter(d=>d.endpointId!==s),l]);r=o.nextCursor}while(r&&this.isConnected&&this.#r.size<Ps)}this.requestUpdate()}}#l(e){let t=this.#r.get(e.id)??[],s=(o,l,d)=>d.length?a`${O(`${d.length} ${o}`,l)} `:c,r=o=>o.status!=="delivered"&&o.status!=="failed";return t.length===0?J:a`
      ${s(i.deliveries.delivered,"good",t.filter(o=>o.status==="delivered"))}
      ${s(i.deliveries.failed,"bad",t.filter(o=>o.status==="failed"))}
      ${s(i.deliveries.retried,"bad retried",t.filter(be))}
      ${s(i.deliveries.waiting,"wait",t.filter(o=>r(o)&&!be(o)))}`}async#a(){let e;try{e=await this.api.all(`${this.appPath}/webhook_endpoints`,"endpoints")}catch(r){return void L(this.person,{title:i.deliveries.allAgain},()=>E(r))}if(e.length===0)return v(`${i.endpoints.none}.`);let t="",s=S(this.person,{keep:`${this.appPath}/webhook_deliveries/redeliver`,title:i.deliveries.allAgain,submit:i.deliveries.again,intro:i.deliveries.allIntro,fields:()=>a`
        ${I({label:i.endpoints.url,name:"endpointId",options:e.map(r=>[r.id,k(r.url)])})}
        ${I({label:i.events.since,name:"since",options:Mn,value:`${24*ve}`})}
        <input type="hidden" name="far" .value=${t}>`,run:async r=>{let[o,l]=[P(r,"endpointId"),P(r,"since")],d={endpointId:o,span:l,since:Date.now()-Number(l),queued:0},p=JSON.parse(P(r,"far")||"null");p?.endpointId===o&&p.span===l&&(d=p);do{let{since:m,cursor:g}=d,h=await this.api.post(`${this.appPath}/webhook_deliveries/redeliver`,{endpointId:o,since:m,status:"failed",cursor:g});d={...d,queued:d.queued+h.queued,cursor:h.nextCursor},t=JSON.stringify(d),s.requestUpdate()}while(d.cursor);return d.queued},done:r=>v(i.deliveries.queued(r))})}render(){let e=this.#n?[this.#n]:[],t=[...new Set([...this.#s.items.map(l=>l.type),...e])].sort(),s=l=>l.filter(d=>!this.#n||d.type===this.#n),r=a`<p class="note">${this.#s.hasMore?i.events.noneYet:i.events.noneOfType}</p>`,o=this.#s.hasMore?r:H(i.events.none,i.events.noneAbout,this.isAdmin&&!f.isEmbedded?a`<a class="button" href="#/orgs/${this.org.id}/endpoints/${this.appId}">${i.endpoints.title}</a>`:c);return a`
      ${q(i.events.title,i.events.about,a`
        <button @click=${this.#i}>${i.refresh}</button>
        ${this.isAdmin?a`<button @click=${this.#a}>${i.deliveries.allAgain}</button>`:c}`)}
      <div class="filters">
        ${I({label:i.events.since,name:"span",options:Mn,value:this.#e,change:l=>{this.#e=l,this.#i()}})}
        ${I({label:i.events.type,name:"type",value:this.#n,options:[["",i.events.every],...t.map(l=>[l,l])],change:l=>{this.#n=l,this.requestUpdate()}})}
      </div>
      ${this.#s.view(l=>s(l).length===0?this.#s.isSettled?r:c:D(i.events.title,[{label:i.events.type,kind:"main",cell:d=>a`
          <button class="link" @click=${()=>G(this,d.id)}><code>${k(d.type)}</code></button>`},{label:i.events.at(ie()),cell:d=>K(d.createdAt)},...this.isAdmin?[{label:i.deliveries.title,cell:d=>this.#l(d)}]:[],{label:i.id,cell:d=>C(d.id)}],s(l)),o,i.events.older)}`}};customElements.define("lk-events",Ct);var Cs=30,Us=864e5,De=n=>new Date(n).toISOString().slice(0,10);function On(n){let e=[...n.limits,...n.ceilings].filter(t=>t.per==="day").map(t=>t.requests);return e.length?Math.min(...e):null}async function Ms(n){if(!n.isAdmin)return i.usage.together;let{allowance:e}=await n.api.get(n.path);if(!e?.length)return"";let t=(await n.api.all(`${n.path}/usage`,"usage")).filter(s=>!s.keyId);return i.usage.ofOrg(he(e),ae(t.filter(s=>s.date===De(Date.now()))),ae(t))}function Os(n){return[...new Set(n.map(e=>e.date))].map(e=>{let t=n.filter(d=>d.date===e),s=t.find(d=>!d.keyId),r=t.filter(d=>d.keyId),o=Math.max(s?.requests??0,r.reduce((d,p)=>d+p.requests,0)),l=(s?[s]:r).every(d=>d.atMost!==null);return{date:e,requests:o,atMost:l?Math.max(o,s?s.atMost:r.reduce((d,p)=>d+p.atMost,0)):null}})}var Mt=n=>n.atMost!==null||n.requests>0;function ae(n){let e=n.reduce((s,r)=>s+r.requests,0),t=n.reduce((s,r)=>s+(r.atMost??1/0),0);return t===1/0?i.usage.atLeast(A(e)):e===t?A(e):i.usage.from(A(e),A(t))}function Rn(n,e,t){let s=null,r="",o=null,l=!1;return d=>{if(l||(l=!0,Promise.all([n.api.get(`${n.path}/keys/${encodeURIComponent(e.id)}/usage`),Ms(n)]).then(([h,u])=>{[s,r]=[h.days,u]},h=>{o=h}).finally(()=>d.requestUpdate())),o)return E(o);if(!s)return F();let p=r?a`<p class="note">${r}</p>`:c,m=n.isAdmin&&r&&!e.limits.length&&!e.ceilings.length,g=s.filter(h=>h.refused);return a`
      ${s.some(Mt)?Oe({title:i.usage.title,bars:Dn(s,Cs),unit:i.usage.day,shadeName:i.usage.atMost,line:t===null?void 0:{value:t,name:i.usage.limit(A(t))}}):a`<p class="note">${m?i.usage.asWhole:i.usage.none}</p>`}
      ${p}
      ${g.length?a`<h3>${i.usage.refused}</h3>${D(i.usage.refused,[{label:i.usage.day,cell:h=>h.date},{label:i.usage.why,cell:h=>Object.entries(h.refused).map(([u,$])=>a`<div>${A($)} <code>${u}</code></div>`)}],g.reverse())}<p class="help">${i.usage.refusedAbout}</p>`:c}`}}function Dn(n,e){return Array.from({length:e},(t,s)=>{let r=De(Date.now()-(e-1-s)*Us),{requests:o,atMost:l}=n.find(d=>d.date===r)??{requests:0,atMost:0};return{label:r,shade:l,parts:[{name:i.usage.requests,tone:"accent",value:o}]}})}function Rs(n,e,t){if(!e.length&&!t.length)return c;let s=De(Date.now()),r=t.filter(d=>!d.keyId),o=s.slice(0,7),l=me(()=>n.api.csv(`${n.path}/usage`,{month:o}).then(d=>kn(`usage-${o}.csv`,d),tt));return a`
    <section class="card padded">
      <div class="head lesser"><div><h2>${i.usage.month}</h2>
        ${e.filter(d=>d.per==="day").map(d=>a`
          <p>${i.usage.today(ae(r.filter(p=>p.date===s)),A(d.requests))}</p>`)}
        ${e.filter(d=>d.per==="month").map(d=>a`<p>${i.usage.ofMonth(ae(r),A(d.requests))}</p>`)}
        </div><div class="actions"><button @click=${l}>${i.csv}</button></div></div>
      ${Oe({title:i.usage.byDay,bars:Dn(Os(t),Number(s.slice(8))),unit:i.usage.day,shadeName:i.usage.atMost})}
    </section>`}function Ln(n,e){let t=e.find(s=>s.id===n);return t?.rotatedTo?Ln(t.rotatedTo,e)??t:t}var Ut=class extends R{#e=null;#t=null;connectedCallback(){super.connectedCallback(),this.#n()}async#n(){this.#t=null;try{let[e,t,s]=await Promise.all([this.api.get(this.path),this.api.all(`${this.path}/usage`,"usage"),this.api.all(`${this.path}/keys`,"keys")]);this.#e={allowance:e.allowance??[],rows:t,keys:s}}catch(e){this.#t=e}this.requestUpdate()}render(){if(this.#t)return E(this.#t,()=>{this.#n()});if(!this.#e)return F();let{allowance:e,rows:t,keys:s}=this.#e,r=[...new Set(t.flatMap(l=>l.keyId??[]))],o=Rs(this,e,t);return a`
      ${q(i.usage.org,i.usage.orgAbout)}
      ${o===c?H(i.usage.nothing,i.usage.nothingAbout):o}
      ${r.length?a`<section>${D(i.usage.byKey,[{label:i.keys.key,kind:"main",cell:l=>{let d=Ln(l,s);return d?a`${d.name?w(d.name):i.keys.unnamed}<div class="sub"><code>${d.keyPrefix}…</code></div>`:a`<code>${l}</code>`}},{label:i.usage.requests,kind:"number",cell:l=>ae(t.filter(d=>d.keyId===l))}],r)}</section>`:c}`}};customElements.define("lk-usage",Ut);var Ds=7*864e5,Q=86400,Ls=[["0",i.keys.graceNone],["3600",i.keys.hours(1)],[`${Q}`,i.keys.hours(24)],[`${3*Q}`,i.keys.days(3)],[`${7*Q}`,i.keys.days(7)]];function $e(){let n=f.maxKeyDays||1/0,e=[1,7,30,90,365].filter(t=>t<n);return(n<1/0?[...e,n]:e).map(t=>[`${t*Q}`,i.keys.days(t)])}var Ot=()=>f.maxKeyDays?`${f.maxKeyDays*Q}`:"";function Ns(n){if(!n.expiresAt)return f.maxKeyDays?$e():[["",i.keys.neverAsBefore],...$e()];let e=Math.round((n.expiresAt-n.createdAt)/1e3);return!f.maxKeyDays||e<=f.maxKeyDays*Q?[[`${e}`,i.keys.asBefore],...$e().filter(([s])=>s!==`${e}`)]:$e()}var ke=n=>!n.revokedAt&&!(n.expiresAt&&n.expiresAt<=Date.now());var Nn={label:i.keys.scopes,help:i.keys.scopesHelp,placeholder:"invoices:read"},qn=(n,e)=>new ye("scopes",n?.scopes??[],e,t=>!n||n.scopes.some(s=>s.name===t)),qs=90*Q*1e3,Hs=n=>ke(n)&&(n.lastUsedAt??n.createdAt)<Date.now()-qs,Rt=class extends R{#e=new B(this,async()=>({items:await this.api.all(`${this.path}/keys`,"keys")}));#t=new Map;#n=Promise.resolve(null);#s=[];#r=!1;connectedCallback(){super.connectedCallback(),this.#n=rt(),this.api.all(`${this.path}/members`,"members").then(e=>{this.#t=new Map(e.map(t=>[t.userId,t])),this.requestUpdate()},()=>{}),this.#e.load().then(()=>{z(`${this.path}/keys`,()=>this.#m());for(let e of this.#e.items)e.id===Y()&&this.#b(e),z(this.#i(e),()=>this.#y(e)),z(`${this.#i(e)}/rotate`,()=>this.#h(e))})}#i(e){return`${this.path}/keys/${e.id}`}#o(e){return e.revokedAt?"revoked":e.expiresAt&&e.expiresAt<=Date.now()?"expired":e.rotatedTo?"replaced":"active"}#l(e){let t=e.createdBy&&this.#t.get(e.createdBy);return t?w(t.email||t.name):e.createdBy?C(e.createdBy):i.keys.byService}#a(e){let t=this.#t.get(e.createdBy??""),s=[e.name,e.id,e.keyPrefix,this.person.appName(this.org,e.appId),...e.scopes,e.createdBy,t?.email,t?.name].join(" ").toLowerCase();return this.#s.every(r=>s.includes(r))&&(!this.#r||Hs(e))}#d(e){return this.#o(e)==="active"}async#p(e,t){let s;try{[s]=await Promise.all([this.#n,f.readSettings()])}catch(r){return void L(this.person,{title:e},()=>E(r))}t(s)}#m=()=>this.#p(i.keys.create,e=>{let[t,s]=[new Me({}),qn(e,[])],r=this.person.apps.get(this.org.id)??[];S(this.person,{title:i.keys.create,submit:i.keys.create,keep:`${this.path}/keys`,pairs:t,choices:s,fields:o=>a`
        ${j({label:i.name,name:"name",max:100,help:i.keys.nameHelp})}
        <div class="two">
          ${I({label:i.app,name:"appId",value:Xe(r)?.id,options:r.map(l=>[l.id,l.name])})}
          ${I({label:i.keys.expires,name:"expiresIn",value:Ot(),options:Ot()?$e():[["",i.keys.never],...$e()]})}
        </div>
        ${s.view(o,Nn,i.catalogue.strange)}${t.view(o)}${Tt([])}`,run:o=>this.api.create(`${this.path}/keys`,{name:P(o,"name")||null,appId:P(o,"appId")||null,expiresIn:Number(o.get("expiresIn"))||null,scopes:s.of(o),metadata:t.value(),limits:_t(o)},o),list:this.#e,done:o=>this.#u(o)})});#u(e){let t=e.key;L(this.person,{title:i.keys.shownTitle,secret:!0},s=>a`
      <p class="intro">${i.keys.shownIntro}</p>
      <div class="secret"><code id="new-key">${t}</code></div>
      <div class="row">${et(t,i.keys.copyKey,"primary first")}</div>
      <h3>${i.keys.try}</h3>
      ${xt(kt("app/get",t))}
      <footer><button @click=${()=>s.close()}>${i.keys.shownDone}</button></footer>`)}#h=e=>this.#p(i.keys.rotateTitle,()=>{let t=Ns(e);S(this.person,{title:i.keys.rotateTitle,submit:i.keys.rotate,intro:a`<p>${this.#c(e)}</p><p>${i.keys.rotateIntro}</p>`,keep:`${this.#i(e)}/rotate`,fields:()=>a`<div class="two">
        ${I({label:i.keys.grace,name:"grace",options:Ls,value:`${Q}`,help:i.keys.graceHelp})}
        ${I({label:i.keys.newExpires,name:"expiresIn",options:t,value:e.expiresAt&&t[0][1]===i.keys.asBefore?t[0][0]:Ot()})}</div>`,run:s=>this.api.create(`${this.#i(e)}/rotate`,{graceSeconds:Number(s.get("grace")),expiresIn:Number(s.get("expiresIn"))||null},s),list:this.#e,done:s=>this.#u(s)})});#g(e){let t=De(Date.now()),s=c,r=S(this.person,{title:i.keys.revokeTitle,submit:i.keys.revoke,danger:!0,intro:a`<p>${this.#c(e)}</p><p>${i.keys.revokeIntro}</p>`,fields:()=>a`
        <p class="note">${i.keys.lastUsed}: ${Ze(e.lastUsedAt,i.keys.neverUsed)}${s}</p>
        ${re("endpoints",i.keys.alsoEndpoints,i.keys.alsoEndpointsHelp)}
        ${re("links",i.keys.alsoLinks,i.keys.alsoLinksHelp)}`,run:async o=>{let{endpoints:l,links:d}=await this.#f(e,o);return[i.keys.keyRevoked,l||i.keys.endpointsStay,d||i.keys.linksStay].join(" ")},list:this.#e,done:v});this.api.get(`${this.#i(e)}/usage`,{from:t,to:t}).then(({days:[o]})=>{o&&Mt(o)&&(s=`; ${i.keys.today(ae([o]))}`),r.requestUpdate()},()=>{})}#k(e){S(this.person,{title:i.keys.endMade,submit:i.keys.endMade,danger:!0,intro:a`<p>${this.#c(e)}</p><p>${i.keys.endMadeIntro}</p>`,fields:()=>a`
        ${re("endpoints",i.keys.endEndpoints,i.keys.endEndpointsHelp)}
        ${re("links",i.keys.endLinks,i.keys.endLinksHelp)}`,run:async t=>{if(!t.has("endpoints")&&!t.has("links"))throw new Error(i.keys.noneTicked);let{endpoints:s,links:r}=await this.#f(e,t);return[s,r].filter(Boolean).join(" ")},list:this.#e,done:v})}async#f(e,t){let[s,r]=[t.has("endpoints"),t.has("links")];return await this.api.delete(this.#i(e),{endpoints:s?"disable":void 0,links:r?"revoke":void 0}),{endpoints:s?i.keys.endpointsEnded:"",links:r?i.keys.linksEnded:""}}#y=e=>this.#p(i.keys.edit,t=>{let[s,r]=[new Me(e.metadata),qn(t,e.scopes)],o={name:e.name.trim()||null,scopes:e.scopes,metadata:s.value(),limits:e.limits};S(this.person,{title:i.keys.edit,submit:i.save,keep:this.#i(e),pairs:s,choices:r,fields:l=>a`
        <input type="hidden" name="first" .value=${JSON.stringify(o)}>
        ${j({label:i.name,name:"name",value:e.name,max:100,required:e.name!==""})}
        ${r.view(l,Nn,i.catalogue.strange)}${s.view(l)}${Tt(e.limits)}
        ${e.ceilings.length?a`
          <p class="note">${i.keys.ceilings}: ${he(e.ceilings)}. ${i.keys.ceilingsHelp}</p>`:c}`,run:l=>this.api.patch(this.#i(e),Tn(JSON.parse(P(l,"first")),{name:P(l,"name")||null,scopes:r.of(l),metadata:s.value(),limits:_t(l)})),list:this.#e,done:()=>v(i.saved)})});#b(e){let t=Rn(this,e,On(e)),s=(r,o)=>()=>{r.close(),o.call(this,e)};L(this.person,{title:i.keys.details,drawer:!0,at:`${this.org.id}/keys//${e.id}`},r=>a`
      <p class="intro">${this.#c(e)} ${this.#$(e)}</p>
      ${e.leakedAt?a`<p class="note alarm">${i.keys.leakedAt} ${_(e.leakedAt)}</p>`:c}
      ${this.isAdmin?a`<div class="row">${ke(e)?a`
        <button @click=${s(r,this.#y)}>${i.edit}</button>
        ${this.#d(e)?a`<button @click=${s(r,this.#h)}>${i.keys.rotate}</button>`:c}
        <button class="danger-text" @click=${s(r,this.#g)}>${i.keys.revoke}</button>`:a`
        <button class="danger-text" @click=${s(r,this.#k)}>${i.keys.endMade}</button>`}</div>`:c}
      ${t(r)}
      ${In(i.usage.life,[{label:i.created,at:e.createdAt},...e.expiresAt?[{label:e.rotatedTo?i.keys.ends:i.keys.expires,at:e.expiresAt}]:[],...e.revokedAt?[{label:i.keys.revokedAt,at:e.revokedAt}]:[]],{label:i.usage.now,at:Date.now()})}
      ${ge([[i.id,C(e.id)],...e.locator?[[i.keys.locator,a`${C(e.locator)} ${et(e.locator,i.keys.copyLocator)}`]]:[],[i.app,w(this.person.appName(this.org,e.appId))],[i.created,a`${_(e.createdAt)} ${i.keys.by} ${this.#l(e)}`],[i.keys.lastUsed,Ze(e.lastUsedAt,i.keys.neverUsed)],[i.keys.expires,_(e.expiresAt,i.keys.never)],...e.revokedAt?[[i.keys.revokedAt,_(e.revokedAt)]]:[],...e.rotatedTo?[[i.keys.rotatedTo,C(e.rotatedTo)]]:[],[i.keys.scopes,this.#v(e)],[i.keys.limits,he(e.limits)||i.none],[i.keys.ceilings,e.ceilings.length?a`${he(e.ceilings)} <span class="faint">${i.keys.ceilingsHelp}</span>`:i.none],[i.keys.metadata,Object.keys(e.metadata).length?a`<pre tabindex="0">${Qe(e.metadata)}</pre>`:i.none]])}`)}#c(e){return a`<strong>${e.name?w(e.name):i.keys.unnamed}</strong> <code>${e.keyPrefix}…</code>`}#v(e){return e.scopes.length?a`<span class="chips">${e.scopes.map(t=>a`<code>${t}</code>`)}</span>`:J}#$(e){let t=this.#o(e),s=ke(e)&&e.expiresAt&&e.expiresAt-Date.now()<=Ds;return a`${O(t)}${e.leakedAt?a` ${O(i.keys.leaked,"bad")}`:c}${s?a`<lk-left class="sub" .until=${e.expiresAt}></lk-left>`:c}`}render(){let e=this.isAdmin?a`<button class="primary" @click=${this.#m}>${i.keys.create}</button>`:c,t=a`<div class="filters">
      ${j({label:i.keys.search,name:"search",type:"search",typed:r=>{this.#s=r.toLowerCase().split(/\s+/),this.requestUpdate()}})}
      ${I({label:i.keys.use,name:"use",options:[["",i.keys.anyUse],["90",i.keys.unused]],change:r=>{this.#r=r!=="",this.requestUpdate()}})}</div>`,s=this.#e.items.filter(r=>this.#a(r));return a`
      ${q(i.keys.title,i.keys.about,this.#e.items.length?e:c)}
      ${this.#e.view(()=>a`${t}${s.length?c:a`<p class="note">${i.keys.noneShown}</p>`}${D(i.keys.title,[{label:i.keys.key,kind:"main",cell:r=>a`
          <button class="link" @click=${()=>this.#b(r)}>${r.name?w(r.name):i.keys.unnamed}</button>
          <div class="sub"><code>${r.keyPrefix}…</code> · ${w(this.person.appName(this.org,r.appId))}</div>
          <div class="sub">${i.created} ${_(r.createdAt)} ${i.keys.by} ${this.#l(r)}</div>`},{label:i.keys.scopes,cell:r=>this.#v(r)},{label:i.keys.lastUsed,cell:r=>Ze(r.lastUsedAt,i.keys.neverUsed)},{label:i.keys.expires,cell:r=>_(r.expiresAt,i.keys.never)},{label:i.status,cell:r=>this.#$(r)},{label:i.actions,kind:"actions",cell:r=>this.isAdmin&&ke(r)?a`
          ${this.#d(r)?a`<button @click=${()=>this.#h(r)}>${i.keys.rotate}</button>`:c}
          <button class="danger-text" @click=${()=>this.#g(r)}>${i.keys.revoke}</button>`:c}],s)}`,H(i.keys.none,this.isAdmin?i.keys.noneAbout:i.keys.noneMember,e,this.isAdmin?kt("app/get"):""))}`}};customElements.define("lk-keys",Rt);var Bs=["admin","member","viewer"],Hn=Bs.map(n=>[n,`${n}: ${i.roles[n]}`]),Dt=class extends R{#e=new B(this,e=>this.api.list(`${this.path}/members`,"members",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e.load().then(()=>{z(`${this.path}/members`,()=>this.#s());for(let e of this.#e.items)z(this.#t(e),()=>this.#r(e))})}#t(e){return`${this.path}/members/${e.userId}`}#n({addedBy:e}){if(!e)return J;let t=this.#e.items.find(s=>s.userId===e);return w(t?t.email||t.name:e.replace(":"," "))}#s(){S(this.person,{title:i.members.add,submit:i.members.addSubmit,intro:i.members.addIntro,keep:`${this.path}/members`,fields:()=>a`
        ${j({label:i.members.email,name:"email",type:"email",required:!0,max:254})}
        ${I({label:i.orgs.role,name:"role",options:Hn,value:"member"})}`,run:e=>this.api.create(`${this.path}/members`,{email:P(e,"email"),role:P(e,"role")},e),list:this.#e,done:()=>v(i.members.added)})}#r(e){S(this.person,{title:i.members.changeRole,submit:i.save,intro:w(e.email||e.name),keep:this.#t(e),fields:()=>I({label:i.orgs.role,name:"role",options:Hn,value:e.role}),run:t=>this.api.patch(this.#t(e),{role:P(t,"role")}),list:this.#e,done:()=>(v(i.saved),this.person.reload())})}#i(e){S(this.person,{title:i.members.remove,submit:i.remove,danger:!0,ends:!0,intro:a`<p><strong>${w(e.email||e.name)}</strong></p><p>${i.members.removeIntro}</p>`,run:()=>this.api.delete(this.#t(e)),list:this.#e,done:()=>(v(i.members.removed),this.#o(e))})}async#o(e){let t=`${this.path}/keys`,s=(await this.api.all(t,"keys",{createdBy:e.userId})).filter(ke);s.length&&S(this.person,{title:i.members.keys,submit:i.members.revoke,danger:!0,intro:a`<p><strong>${w(e.email||e.name)}</strong></p><p>${i.members.keysIntro}</p>`,fields:()=>s.map(r=>re(r.id,r.name?w(r.name):i.keys.unnamed,a`
        <code>${r.keyPrefix}…</code> · ${i.keys.lastUsed}: ${_(r.lastUsedAt,i.keys.neverUsed)}`)),run:async r=>{let o=s.filter(l=>r.has(l.id));if(!o.length)throw new Error(i.members.noneTicked);if(o.length===s.length)return this.api.delete(t,{createdBy:e.userId});for(let l of o)await this.api.delete(`${t}/${l.id}`)},done:()=>v(i.members.keysRevoked)})}render(){let e=s=>s.email!==""&&s.email.toLowerCase()===this.person.email.toLowerCase(),t=this.isAdmin?a`<button class="primary" @click=${this.#s}>${i.members.add}</button>`:c;return a`
      ${q(i.members.title,i.members.about,t)}
      ${this.#e.view(s=>D(i.members.title,[{label:i.members.person,kind:"main",cell:r=>a`
          ${w(r.name||r.email)} ${e(r)?O(i.members.you):c}
          ${r.name&&r.email!==r.name?a`<div class="sub">${w(r.email)}</div>`:c}`},{label:i.orgs.role,cell:r=>O(r.role)},{label:i.members.joined,cell:r=>_(r.joinedAt)},...this.isAdmin?[{label:i.orgs.addedBy,cell:r=>this.#n(r)},{label:i.actions,kind:"actions",cell:r=>a`
            <button @click=${()=>this.#r(r)}>${i.members.role}</button>
            ${e(r)?c:a`<button class="danger-text" @click=${()=>this.#i(r)}>${i.remove}</button>`}`}]:[]],s),c)}`}};customElements.define("lk-members",Dt);var jn=[qe(hn),pt`
  :host { display: block; margin-block: 1.5rem; color-scheme: inherit; color: var(--text) }
  .pages { padding: 0 }
  .pages > * + * { margin-top: 2rem }`],Lt=class{constructor(e,t){this.give=e;this.other=t;this.startedAt=0;this.again=!1;this.email=""}#e;#t;async#n(e){let t=this.give,s=await t(e);if(t!==this.give)return this.#n(e);let{subject:r,email:o}=Bn(s);if(this.#t??=r,this.email=o,r===this.#t)return s;throw this.other(),new Error(i.problem.ended)}async isStill(e){this.give=e,this.#e=void 0;let t=this.#t;return!!t&&t===Bn(await e({})).subject}async token(){let e=this.#e??this.#n({});return this.#e=void 0,e}async renew(){return this.#e=await this.#n({fresh:!0}),!0}async signIn(e){this.#e=await this.#n({fresh:!0,maxAge:e})}};function Bn(n){try{let e=atob(n.split(".")[1].replaceAll("-","+").replaceAll("_","/")),{iss:t,sub:s,email:r}=JSON.parse(e);return{subject:JSON.stringify([t,s]),email:typeof r=="string"?r:""}}catch{return{subject:"",email:""}}}var zn,Nt=null;f.readSettings=async()=>{let n=await(zn??=Ce(new URL("console/config.json",f.base),{credentials:"omit"}));if(n instanceof M)throw zn=void 0,n;let e=n;f.maxKeyDays=e.maxKeyDays,f.supportUrl=e.supportUrl,Nt=e.accent};var we=class extends U{constructor(){super(...arguments);this.org="";this.app="";this.#r=!1;this.#i=null}static{this.styles=jn}static{this.properties={org:{},app:{},token:{attribute:!1}}}#e;#t;#n;#s;#r;#i;createRenderRoot(){let t=super.createRenderRoot();return this.#e=t.appendChild(document.createElement("div")),this.renderOptions.renderBefore=this.#e,t}willUpdate(t){!t.has("token")&&!t.has("org")||(!this.token||!this.org?this.#l():this.#o(this.token,t.has("org")))}async#o(t,s){let r=this.#t;!(r&&!s&&!this.#i&&await r.isStill(t).catch(()=>!1))&&r===this.#t&&t===this.token&&this.#a()}#l(){this.#n&&(this.#n.api.end(),wn(this.#n)),this.#t=this.#n=void 0,this.#r=!1,this.#i=null}async#a(){this.#l();let t=this.#t=new Lt(this.token,()=>{t===this.#t&&this.#a()}),s=this.#n=new Je(new Ge(t),()=>this.requestUpdate(),this.#e);this.requestUpdate();try{f.readSettings().then(()=>this.#d(),()=>{}),await s.reload();let r=s.orgs.find(o=>o.id===this.org);if(r&&r.role!=="viewer"&&await s.reloadApps(r),s!==this.#n)return;s.email=t.email,this.#s=r,this.#r=!0}catch(r){s===this.#n&&(this.#i=r)}this.requestUpdate()}#d(){Nt&&this.style.setProperty("--accent-of-product",Nt),this.requestUpdate()}render(){if(this.#i)return E(this.#i,()=>{this.#a()});let t=this.#n;if(!this.#r||!t)return F();let s=this.#s;if(!s)return H(i.nav.noOrg,i.nav.noOrgAbout);if(s.role==="viewer")return H(i.nav.noPage,i.nav.noPageAbout);let r=t.apps.get(s.id)??[],o=Xe(r,this.app);return a`
      <div class="pages">
        ${bn(s)}
        ${this.ofApp&&!this.getAttribute("app")?$n(r,o,l=>{this.app=l}):c}
        ${pn(`${s.id}/${o?.id}`,this.pages(t,s,o?.id??""))}
      </div>`}get ofApp(){return!1}},qt=class extends we{pages(e,t){return a`<lk-keys .person=${e} .org=${t}></lk-keys>`}};customElements.define("latchkey-keys",qt);var Ht=class extends we{get ofApp(){return!0}pages(e,t,s){return a`
      ${t.role==="admin"?a`<lk-endpoints .person=${e} .org=${t} .appId=${s}></lk-endpoints>`:c}
      <lk-events .person=${e} .org=${t} .appId=${s}></lk-events>`}};customElements.define("latchkey-webhooks",Ht);var Bt=class extends we{pages(e,t){return a`<lk-members .person=${e} .org=${t}></lk-members>`}};customElements.define("latchkey-members",Bt);var zt=class extends we{pages(e,t){return t.role==="admin"?a`<lk-usage .person=${e} .org=${t}></lk-usage>`:H(i.nav.noPage,i.nav.noPageAbout)}};customElements.define("latchkey-usage",zt);function zs(){let n=document.createElement("div"),e=n.attachShadow({mode:"open"});He(e,jn);let t=document.createElement("div");t.className="said",t.role="status",e.append(t);let s=0;window.addEventListener("lk-announce",r=>{let o=document.createElement("p");o.textContent=r.detail,t.replaceChildren(o),clearTimeout(s),s=window.setTimeout(()=>t.replaceChildren(),5e3)}),document.body.append(n)}f.isEmbedded=!0;f.base=new URL("../..",import.meta.url);zs();
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
