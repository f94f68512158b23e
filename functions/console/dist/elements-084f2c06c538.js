var ue=globalThis,ge=ue.ShadowRoot&&(ue.ShadyCSS===void 0||ue.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,Re=Symbol(),ct=new WeakMap,re=class{constructor(e,n,i){if(this._$cssResult$=!0,i!==Re)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=n}get styleSheet(){let e=this.o,n=this.t;if(ge&&e===void 0){let i=n!==void 0&&n.length===1;i&&(e=ct.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),i&&ct.set(n,e))}return e}toString(){return this.cssText}},fe=t=>new re(typeof t=="string"?t:t+"",void 0,Re),De=(t,...e)=>{let n=t.length===1?t[0]:e.reduce((i,s,a)=>i+(l=>{if(l._$cssResult$===!0)return l.cssText;if(typeof l=="number")return l;throw Error("Value passed to 'css' function must be a 'css' function result: "+l+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(s)+t[a+1],t[0]);return new re(n,t,Re)},be=(t,e)=>{if(ge)t.adoptedStyleSheets=e.map(n=>n instanceof CSSStyleSheet?n:n.styleSheet);else for(let n of e){let i=document.createElement("style"),s=ue.litNonce;s!==void 0&&i.setAttribute("nonce",s),i.textContent=n.cssText,t.appendChild(i)}},Ne=ge?t=>t:t=>t instanceof CSSStyleSheet?(e=>{let n="";for(let i of e.cssRules)n+=i.cssText;return fe(n)})(t):t;var{is:Bt,defineProperty:jt,getOwnPropertyDescriptor:Kt,getOwnPropertyNames:Ft,getOwnPropertySymbols:Vt,getPrototypeOf:Wt}=Object,ye=globalThis,pt=ye.trustedTypes,Yt=pt?pt.emptyScript:"",Jt=ye.reactiveElementPolyfillSupport,se=(t,e)=>t,He={toAttribute(t,e){switch(e){case Boolean:t=t?Yt:null;break;case Object:case Array:t=t==null?t:JSON.stringify(t)}return t},fromAttribute(t,e){let n=t;switch(e){case Boolean:n=t!==null;break;case Number:n=t===null?null:Number(t);break;case Object:case Array:try{n=JSON.parse(t)}catch{n=null}}return n}},mt=(t,e)=>!Bt(t,e),ht={attribute:!0,type:String,converter:He,reflect:!1,useDefault:!1,hasChanged:mt};Symbol.metadata??=Symbol("metadata"),ye.litPropertyMetadata??=new WeakMap;var M=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,n=ht){if(n.state&&(n.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((n=Object.create(n)).wrapped=!0),this.elementProperties.set(e,n),!n.noAccessor){let i=Symbol(),s=this.getPropertyDescriptor(e,i,n);s!==void 0&&jt(this.prototype,e,s)}}static getPropertyDescriptor(e,n,i){let{get:s,set:a}=Kt(this.prototype,e)??{get(){return this[n]},set(l){this[n]=l}};return{get:s,set(l){let p=s?.call(this);a?.call(this,l),this.requestUpdate(e,p,i)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??ht}static _$Ei(){if(this.hasOwnProperty(se("elementProperties")))return;let e=Wt(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(se("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(se("properties"))){let n=this.properties,i=[...Ft(n),...Vt(n)];for(let s of i)this.createProperty(s,n[s])}let e=this[Symbol.metadata];if(e!==null){let n=litPropertyMetadata.get(e);if(n!==void 0)for(let[i,s]of n)this.elementProperties.set(i,s)}this._$Eh=new Map;for(let[n,i]of this.elementProperties){let s=this._$Eu(n,i);s!==void 0&&this._$Eh.set(s,n)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let n=[];if(Array.isArray(e)){let i=new Set(e.flat(1/0).reverse());for(let s of i)n.unshift(Ne(s))}else e!==void 0&&n.push(Ne(e));return n}static _$Eu(e,n){let i=n.attribute;return i===!1?void 0:typeof i=="string"?i:typeof e=="string"?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,n=this.constructor.elementProperties;for(let i of n.keys())this.hasOwnProperty(i)&&(e.set(i,this[i]),delete this[i]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return be(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,n,i){this._$AK(e,i)}_$ET(e,n){let i=this.constructor.elementProperties.get(e),s=this.constructor._$Eu(e,i);if(s!==void 0&&i.reflect===!0){let a=(i.converter?.toAttribute!==void 0?i.converter:He).toAttribute(n,i.type);this._$Em=e,a==null?this.removeAttribute(s):this.setAttribute(s,a),this._$Em=null}}_$AK(e,n){let i=this.constructor,s=i._$Eh.get(e);if(s!==void 0&&this._$Em!==s){let a=i.getPropertyOptions(s),l=typeof a.converter=="function"?{fromAttribute:a.converter}:a.converter?.fromAttribute!==void 0?a.converter:He;this._$Em=s;let p=l.fromAttribute(n,a.type);this[s]=p??this._$Ej?.get(s)??p,this._$Em=null}}requestUpdate(e,n,i,s=!1,a){if(e!==void 0){let l=this.constructor;if(s===!1&&(a=this[e]),i??=l.getPropertyOptions(e),!((i.hasChanged??mt)(a,n)||i.useDefault&&i.reflect&&a===this._$Ej?.get(e)&&!this.hasAttribute(l._$Eu(e,i))))return;this.C(e,n,i)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(e,n,{useDefault:i,reflect:s,wrapped:a},l){i&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,l??n??this[e]),a!==!0||l!==void 0)||(this._$AL.has(e)||(this.hasUpdated||i||(n=void 0),this._$AL.set(e,n)),s===!0&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(n){Promise.reject(n)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[s,a]of this._$Ep)this[s]=a;this._$Ep=void 0}let i=this.constructor.elementProperties;if(i.size>0)for(let[s,a]of i){let{wrapped:l}=a,p=this[s];l!==!0||this._$AL.has(s)||p===void 0||this.C(s,void 0,a,p)}}let e=!1,n=this._$AL;try{e=this.shouldUpdate(n),e?(this.willUpdate(n),this._$EO?.forEach(i=>i.hostUpdate?.()),this.update(n)):this._$EM()}catch(i){throw e=!1,this._$EM(),i}e&&this._$AE(n)}willUpdate(e){}_$AE(e){this._$EO?.forEach(n=>n.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(n=>this._$ET(n,this[n])),this._$EM()}updated(e){}firstUpdated(e){}};M.elementStyles=[],M.shadowRootOptions={mode:"open"},M[se("elementProperties")]=new Map,M[se("finalized")]=new Map,Jt?.({ReactiveElement:M}),(ye.reactiveElementVersions??=[]).push("2.1.2");var ze=globalThis,ut=t=>t,ve=ze.trustedTypes,gt=ve?ve.createPolicy("lit-html",{createHTML:t=>t}):void 0,qe="$lit$",O=`lit$${Math.random().toFixed(9).slice(2)}$`,Be="?"+O,Gt=`<${Be}>`,V=document,ae=()=>V.createComment(""),le=t=>t===null||typeof t!="object"&&typeof t!="function",je=Array.isArray,wt=t=>je(t)||typeof t?.[Symbol.iterator]=="function",Le=`[ 	
\f\r]`,oe=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,ft=/-->/g,bt=/>/g,K=RegExp(`>|${Le}(?:([^\\s"'>=/]+)(${Le}*=${Le}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),yt=/'/g,vt=/"/g,kt=/^(?:script|style|textarea|title)$/i,Ke=t=>(e,...n)=>({_$litType$:t,strings:e,values:n}),o=Ke(1),v=Ke(2),Cn=Ke(3),W=Symbol.for("lit-noChange"),d=Symbol.for("lit-nothing"),$t=new WeakMap,F=V.createTreeWalker(V,129);function xt(t,e){if(!je(t)||!t.hasOwnProperty("raw"))throw Error("invalid template strings array");return gt!==void 0?gt.createHTML(e):e}var At=(t,e)=>{let n=t.length-1,i=[],s,a=e===2?"<svg>":e===3?"<math>":"",l=oe;for(let p=0;p<n;p++){let c=t[p],m,g,h=-1,f=0;for(;f<c.length&&(l.lastIndex=f,g=l.exec(c),g!==null);)f=l.lastIndex,l===oe?g[1]==="!--"?l=ft:g[1]!==void 0?l=bt:g[2]!==void 0?(kt.test(g[2])&&(s=RegExp("</"+g[2],"g")),l=K):g[3]!==void 0&&(l=K):l===K?g[0]===">"?(l=s??oe,h=-1):g[1]===void 0?h=-2:(h=l.lastIndex-g[2].length,m=g[1],l=g[3]===void 0?K:g[3]==='"'?vt:yt):l===vt||l===yt?l=K:l===ft||l===bt?l=oe:(l=K,s=void 0);let w=l===K&&t[p+1].startsWith("/>")?" ":"";a+=l===oe?c+Gt:h>=0?(i.push(m),c.slice(0,h)+qe+c.slice(h)+O+w):c+O+(h===-2?p:w)}return[xt(t,a+(t[n]||"<?>")+(e===2?"</svg>":e===3?"</math>":"")),i]},de=class t{constructor({strings:e,_$litType$:n},i){let s;this.parts=[];let a=0,l=0,p=e.length-1,c=this.parts,[m,g]=At(e,n);if(this.el=t.createElement(m,i),F.currentNode=this.el.content,n===2||n===3){let h=this.el.content.firstChild;h.replaceWith(...h.childNodes)}for(;(s=F.nextNode())!==null&&c.length<p;){if(s.nodeType===1){if(s.hasAttributes())for(let h of s.getAttributeNames())if(h.endsWith(qe)){let f=g[l++],w=s.getAttribute(h).split(O),I=/([.?@])?(.*)/.exec(f);c.push({type:1,index:a,name:I[2],strings:w,ctor:I[1]==="."?we:I[1]==="?"?ke:I[1]==="@"?xe:J}),s.removeAttribute(h)}else h.startsWith(O)&&(c.push({type:6,index:a}),s.removeAttribute(h));if(kt.test(s.tagName)){let h=s.textContent.split(O),f=h.length-1;if(f>0){s.textContent=ve?ve.emptyScript:"";for(let w=0;w<f;w++)s.append(h[w],ae()),F.nextNode(),c.push({type:2,index:++a});s.append(h[f],ae())}}}else if(s.nodeType===8)if(s.data===Be)c.push({type:2,index:a});else{let h=-1;for(;(h=s.data.indexOf(O,h+1))!==-1;)c.push({type:7,index:a}),h+=O.length-1}a++}}static createElement(e,n){let i=V.createElement("template");return i.innerHTML=e,i}};function Y(t,e,n=t,i){if(e===W)return e;let s=i!==void 0?n._$Co?.[i]:n._$Cl,a=le(e)?void 0:e._$litDirective$;return s?.constructor!==a&&(s?._$AO?.(!1),a===void 0?s=void 0:(s=new a(t),s._$AT(t,n,i)),i!==void 0?(n._$Co??=[])[i]=s:n._$Cl=s),s!==void 0&&(e=Y(t,s._$AS(t,e.values),s,i)),e}var $e=class{constructor(e,n){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=n}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:n},parts:i}=this._$AD,s=(e?.creationScope??V).importNode(n,!0);F.currentNode=s;let a=F.nextNode(),l=0,p=0,c=i[0];for(;c!==void 0;){if(l===c.index){let m;c.type===2?m=new X(a,a.nextSibling,this,e):c.type===1?m=new c.ctor(a,c.name,c.strings,this,e):c.type===6&&(m=new Ae(a,this,e)),this._$AV.push(m),c=i[++p]}l!==c?.index&&(a=F.nextNode(),l++)}return F.currentNode=V,s}p(e){let n=0;for(let i of this._$AV)i!==void 0&&(i.strings!==void 0?(i._$AI(e,i,n),n+=i.strings.length-2):i._$AI(e[n])),n++}},X=class t{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,n,i,s){this.type=2,this._$AH=d,this._$AN=void 0,this._$AA=e,this._$AB=n,this._$AM=i,this.options=s,this._$Cv=s?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,n=this._$AM;return n!==void 0&&e?.nodeType===11&&(e=n.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,n=this){e=Y(this,e,n),le(e)?e===d||e==null||e===""?(this._$AH!==d&&this._$AR(),this._$AH=d):e!==this._$AH&&e!==W&&this._(e):e._$litType$!==void 0?this.$(e):e.nodeType!==void 0?this.T(e):wt(e)?this.k(e):this._(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==d&&le(this._$AH)?this._$AA.nextSibling.data=e:this.T(V.createTextNode(e)),this._$AH=e}$(e){let{values:n,_$litType$:i}=e,s=typeof i=="number"?this._$AC(e):(i.el===void 0&&(i.el=de.createElement(xt(i.h,i.h[0]),this.options)),i);if(this._$AH?._$AD===s)this._$AH.p(n);else{let a=new $e(s,this),l=a.u(this.options);a.p(n),this.T(l),this._$AH=a}}_$AC(e){let n=$t.get(e.strings);return n===void 0&&$t.set(e.strings,n=new de(e)),n}k(e){je(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,i,s=0;for(let a of e)s===n.length?n.push(i=new t(this.O(ae()),this.O(ae()),this,this.options)):i=n[s],i._$AI(a),s++;s<n.length&&(this._$AR(i&&i._$AB.nextSibling,s),n.length=s)}_$AR(e=this._$AA.nextSibling,n){for(this._$AP?.(!1,!0,n);e!==this._$AB;){let i=ut(e).nextSibling;ut(e).remove(),e=i}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},J=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,n,i,s,a){this.type=1,this._$AH=d,this._$AN=void 0,this.element=e,this.name=n,this._$AM=s,this.options=a,i.length>2||i[0]!==""||i[1]!==""?(this._$AH=Array(i.length-1).fill(new String),this.strings=i):this._$AH=d}_$AI(e,n=this,i,s){let a=this.strings,l=!1;if(a===void 0)e=Y(this,e,n,0),l=!le(e)||e!==this._$AH&&e!==W,l&&(this._$AH=e);else{let p=e,c,m;for(e=a[0],c=0;c<a.length-1;c++)m=Y(this,p[i+c],n,c),m===W&&(m=this._$AH[c]),l||=!le(m)||m!==this._$AH[c],m===d?e=d:e!==d&&(e+=(m??"")+a[c+1]),this._$AH[c]=m}l&&!s&&this.j(e)}j(e){e===d?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??"")}},we=class extends J{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===d?void 0:e}},ke=class extends J{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==d)}},xe=class extends J{constructor(e,n,i,s,a){super(e,n,i,s,a),this.type=5}_$AI(e,n=this){if((e=Y(this,e,n,0)??d)===W)return;let i=this._$AH,s=e===d&&i!==d||e.capture!==i.capture||e.once!==i.once||e.passive!==i.passive,a=e!==d&&(i===d||s);s&&this.element.removeEventListener(this.name,this,i),a&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},Ae=class{constructor(e,n,i){this.element=e,this.type=6,this._$AN=void 0,this._$AM=n,this.options=i}get _$AU(){return this._$AM._$AU}_$AI(e){Y(this,e)}},_t={M:qe,P:O,A:Be,C:1,L:At,R:$e,D:wt,V:Y,I:X,H:J,N:ke,U:xe,B:we,F:Ae},Qt=ze.litHtmlPolyfillSupport;Qt?.(de,X),(ze.litHtmlVersions??=[]).push("3.3.3");var Et=(t,e,n)=>{let i=n?.renderBefore??e,s=i._$litPart$;if(s===void 0){let a=n?.renderBefore??null;i._$litPart$=s=new X(e.insertBefore(ae(),a),a,void 0,n??{})}return s._$AI(t),s};var Fe=globalThis,k=class extends M{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let n=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Et(n,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return W}};k._$litElement$=!0,k.finalized=!0,Fe.litElementHydrateSupport?.({LitElement:k});var Xt=Fe.litElementPolyfillSupport;Xt?.({LitElement:k});(Fe.litElementVersions??=[]).push("4.2.2");var St=t=>(...e)=>({_$litDirective$:t,values:e}),_e=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,n,i){this._$Ct=e,this._$AM=n,this._$Ci=i}_$AS(e,n){return this.update(e,n)}update(e,n){return this.render(...n)}};var{I:Kn}=_t;var Zt={},Tt=(t,e=Zt)=>t._$AH=e;var Ct=St(class extends _e{constructor(){super(...arguments),this.key=d}render(t,e){return this.key=t,e}update(t,[e,n]){return e!==this.key&&(Tt(t),this.key=e),n}});var It=`/* The one stylesheet of the console. */
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
`;var u={base:new URL(".",location.href),home:document.body,isEmbedded:!1,api:null,session:null,orgs:[],apps:new Map,changed:()=>{},async reload(){let{orgs:t}=await this.api.get("orgs");this.orgs=t,this.changed()},async reloadApps(t){let{apps:e}=await this.api.get(`orgs/${t.id}/apps`);return this.apps.set(t.id,e),this.changed(),e},appName(t,e){return this.apps.get(t.id)?.find(n=>n.id===e)?.name??e}};var Ee=(t,e)=>`${t} ${e}${t===1?"":"s"}`,r={product:"Latchkey",loading:"Loading…",working:"Working…",more:"Load more",again:"Try again",refresh:"Refresh",close:"Close",cancel:"Cancel",create:"Create",save:"Save",saved:"Saved.",edit:"Edit",rename:"Rename",remove:"Remove",copy:"Copy",copied:"Copied.",notCopied:"The browser did not let the page copy. Select the text and copy it.",none:"–",name:"Name",id:"Id",app:"App",status:"Status",created:"Created",actions:"Actions",problem:{title:"Something went wrong",status:t=>`The server answered ${t}.`,requestId:"Request id",unreachable:{title:"No answer",detail:"The server cannot be reached. Check your connection and try again."}},signIn:{title:"You are not signed in",button:"Sign in",signOut:"Sign out",out:"You are signed out",outAbout:"This page has forgotten your sign-in.",again:"You signed in again. Please repeat what you were about to do.",unreachable:"The console cannot reach its server. Check your connection and try again.",noConfig:t=>`The console has no settings: the server answered ${t}.`,lost:"The sign-in was begun in another tab, or too long ago. Sign in once more.",refused:t=>`The sign-in did not succeed: ${t}`},nav:{menu:"Org",skip:"Skip to the content",org:"Overview",members:"Members",keys:"API keys",links:"Links",endpoints:"Webhook endpoints",events:"Events",audit:"Audit log",reference:"API reference",noOrg:"No such org",noOrgAbout:"There is no such org, or you are not a member of it.",noPage:"Nothing to see here",noPageAbout:"There is no such page, or your role in this org does not open it."},roles:{admin:"manages members, keys and webhooks",member:"sees members, keys, links and events",viewer:"sees the org alone"},orgs:{title:"Your orgs",one:"Org",all:"All orgs",about:"An org has members, and apps with API keys, links and webhooks.",oneAbout:"The org and its apps.",create:"New org",createIntro:"You become its admin. A first app is made with it.",created:"The org is made.",none:"You are in no org yet",noneAbout:"Make one to create API keys, or ask an admin to add you to theirs.",role:"Role",addedBy:"Added by",externalId:"External id",allowance:"Allowance of all keys",viewer:"You are a viewer of this org. An admin can give you another role.",rename:"Rename org",leave:"Leave org",leaveIntro:"You lose access at once. An org keeps at least one admin.",left:"You left the org.",delete:"Delete org",deleteIntro:"All its API keys stop working at once, and its apps, links and webhooks end. Nobody can undo this.",typeName:"To confirm, type the name of the org:",otherName:"This is not the name of the org.",deleted:"The org is deleted."},apps:{title:"Apps",about:"An app owns API keys, links and webhook endpoints.",create:"New app",createIntro:"Make an app for each product or environment, such as staging.",rename:"Rename app",default:"default"},members:{title:"Members",about:"The people of this org, and what they may do.",person:"Person",joined:"Joined",you:"you",add:"Add member",addSubmit:"Add",addIntro:"The person must have signed in here once, with this email verified.",email:"Email",added:"The member is added.",role:"Role",changeRole:"Change role",remove:"Remove member",removeIntro:"They lose access at once. API keys that they made stay good.",removed:"The member is removed."},keys:{title:"API keys",about:"What your servers send to prove who they are.",key:"Key",create:"New API key",unnamed:"Unnamed key",none:"No API keys yet",noneAbout:"Create a key, put it in place of $KEY, and send a first request:",noneMember:"An admin of this org can create one.",nameHelp:"For you, to tell keys apart.",expires:"Expires",ends:"Rotated: ends",never:"Never",lastUsed:"Last used",neverUsed:"Never",days:t=>`After ${Ee(t,"day")}`,hours:t=>`After ${Ee(t,"hour")}`,scopes:"Scopes",scopesHelp:"What the key may do at the endpoints behind it, separated by spaces.",metadata:"Metadata",metadataName:"Name",metadataValue:"Value",metadataAdd:"Add a value",metadataHelp:"Passed to the endpoints with each request of the key; at most 1 KB.",limits:"Limits",per:t=>`per ${t}`,limit:(t,e)=>`${t} per ${e}`,limitsHelp:"How many requests are let through; at most three of the four. Empty is no limit.",ceilings:"Ceilings",ceilingsHelp:"Set by the owner of this service; both hold.",shownTitle:"Your new API key",shownIntro:"Copy it now and keep it safe. It is shown this once, and nobody can show it again.",copyKey:"Copy key",shownDone:"I have saved the key",try:"Try it",details:"API key",edit:"Edit API key",revokedAt:"Revoked",rotatedTo:"Replaced by",rotate:"Rotate",rotateTitle:"Rotate API key",rotateIntro:"A new key takes its place, with the same name, app, scopes, metadata and limits.",grace:"The old key ends",graceNone:"At once",graceHelp:"Until then both keys work.",endsIn:t=>`ends in ${t}`,revoke:"Revoke",revokeTitle:"Revoke API key",revokeIntro:"Every request with this key is refused at once. Nobody can undo this.",alsoEndpoints:"Also disable its endpoints",alsoEndpointsHelp:"Webhook endpoints that the key made or set. If not, they go on getting events.",alsoLinks:"Also revoke its links",alsoLinksHelp:"Pending links that the key made. If not, they can still be claimed.",revoked:(t,e)=>["The key is revoked.",t?"Its endpoints are disabled; an admin can enable them.":"Endpoints that it made or set are as they were.",e?"Its pending links can no longer be claimed; the list shows it within minutes.":"Links that it made can still be claimed."].join(" ")},usage:{title:"Requests in the last 30 days (UTC)",requests:"Requests",atMost:"At most",day:"Day",limit:t=>`Limit of ${t} a day`,life:"Life of the key",now:"now",none:"Nothing was counted in the last 30 days. Keys without limits are counted only where the deployment counts all."},chart:{table:"Show as a table",above:"above the chart"},links:{title:"Links",about:"Invitations that your server made, each for one device of a user.",user:"User",device:"Device",expires:"Expires",ended:"Claimed or revoked",none:"No links yet",noneAbout:"Your server makes one with an API key of this app:",revoke:"Revoke link",revokeShort:"Revoke",revokeIntro:"Nobody can claim it any more.",revoked:"The link is revoked."},endpoints:{title:"Webhook endpoints",one:"Webhook endpoint",about:"Where the events of this app are sent.",url:"URL",events:"Events",eventsHelp:"Types separated by spaces. * is every type; link.* is every type that begins so.",description:"Description",create:"New endpoint",createIntro:"It gets each event as a signed POST. Verify the signature before you trust it.",created:"The endpoint is made.",none:"No webhook endpoints yet",noneAbout:"Register a URL of your server to be told of links, keys and more as they change.",enabled:"enabled",disabled:"disabled",failing:"failing",since:"since",paused:"Paused until",reasons:{admin:"by an admin",user:"with an API key",gone:"it answered 410",failing:"it failed for 5 days"},test:"Send test event",testShort:"Test",tested:"A test event is on its way.",enable:"Enable endpoint",enableShort:"Enable",enableIntro:"Deliveries that are held go on.",disable:"Disable endpoint",disableShort:"Disable",disableIntro:"No attempt begins any more. Deliveries are held until an admin enables it.",delete:"Delete endpoint",deleteIntro:"Deliveries that wait are cancelled. Nobody can undo this.",deleted:"The endpoint is deleted.",held:"Held deliveries",createdBy:"Made by",setBy:"URL or events set by",admin:"an admin",last:"Last deliveries",hours:t=>`Deliveries of the last ${t} hours`,hour:"Hour",bounded:"There were more than 500: the bars show the oldest of them.",quiet:t=>`Nothing was sent in the last ${t} hours.`},events:{title:"Events",one:"Event",about:"What happened in this app, kept for 30 days. An event is listed 10 seconds after it happened.",type:"Type",at:"When",payload:"Payload",since:"Since",every:"Every type",hour:"the last hour",day:"the last 24 hours",week:"the last 7 days",month:"the last 30 days",newer:"Load newer events",hidden:"Only admins see the payload of events about webhook endpoints.",none:"No events in this time",noneAbout:"Events appear when links are claimed, keys change, or an endpoint is tested."},deliveries:{title:"Deliveries",delivered:"Delivered",failed:"Failed",waiting:"Waiting",again:"Send again",allAgain:"Send failed again",allIntro:"Every failed delivery to one endpoint since a time is sent once more.",attempts:t=>Ee(t,"attempt"),next:"next",at:"delivered",took:t=>`${t} ms`,noAttempt:"No attempt yet.",none:"No endpoint gets this event.",bounded:"Only the first deliveries are shown.",queued:t=>t===0?"Nothing to send again.":`${t===1?"One delivery":`${t} deliveries`} will be sent again.`},audit:{title:"Audit log",about:"Who did what in this org. Entries are kept for 400 days.",what:"Action",who:"By",target:"Target",changes:"Changes",service:"service",every:"All",none:"No entries",noneAbout:"What members and keys do appears here.",types:{user:"user",api_key:"API key",org:"org",key:"API key",app:"app",link:"link",endpoint:"endpoint"}},verify:{title:"Verify a webhook",about:"See what a receiver checks. Only the kid of what you paste leaves this page, to fetch its public key.",pasted:"Webhook",pastedHelp:"Its body, or the whole request with its headers.",endpoint:"Endpoint id",endpointHelp:"Of your endpoint: whe_… A receiver must compare it.",issuer:"Issuer",issuerHelp:"The base URL of the API, as a rule.",button:"Verify",result:"Result",why:"What was seen",check:"Check",key:"Public key",event:"Event",code:"A receiver",codeAbout:"Each makes these checks.",good:"This webhook is genuine.",bad:"A receiver refuses this webhook.",old:"This webhook was genuine when it was sent. A receiver refuses it now, because somebody could be sending it again.",open:"All that could be checked is right. Give the endpoint id and the issuer to check the rest.",results:{passed:"passed",failed:"failed",open:"not tried"},checks:{form:"Form",header:"Header",key:"Key",signature:"Signature",audience:"Audience",issuer:"Issuer",times:"Times",event:"Event"},says:{form:"It is three parts in base64url, and objects in JSON.",tooLong:"It is longer than 256 KB.",parts:t=>`It has ${Ee(t,"part")} between its dots; a webhook has three.`,notBase64:"A part is no base64url (RFC 4648), or has a second spelling of its bytes.",noJson:"A part is no JSON in UTF-8.",noObject:"A part is JSON, but no object.",twice:"A member of an object is there twice.",header:"alg is ES256, typ is webhook+jwt, and there is no crit.",alg:t=>`alg is ${t}, not "ES256".`,typ:t=>`typ is ${t}, not "webhook+jwt".`,crit:"crit is there: it may demand what a receiver does not know.",kid:"kid is not the base64url of 32 bytes.",key:"The key is known, and was not retired when this was signed.",unknownKey:"No key has this kid.",revokedKey:"The key was revoked: it proves nothing.",retiredKey:"The key had been retired when this was signed.",noKey:"What the API gives for it is no key that verifies.",noAnswer:t=>`The key cannot be looked up now (${t}).`,signature:"The key signed exactly these bytes.",notSigned:"The key did not sign these bytes.",notTried:"It was not tried, because a check before it failed.",audience:"It is for your endpoint.",anyAudience:t=>`It is for ${t}. Is this your endpoint?`,otherAudience:t=>`aud is ${t}, not your endpoint.`,issuer:"It is by your issuer.",anyIssuer:t=>`It is by ${t}.`,otherIssuer:t=>`iss is ${t}, not your issuer.`,times:"It was signed in the last five minutes, and has not expired.",noTime:"iat or exp is no whole number of seconds.",notYet:t=>`It was signed in the future: ${t}.`,tooOld:t=>`It was signed at ${t}, more than five minutes ago.`,event:"The event has an id, a type, a time and data.",noEvent:"There is no event.",noMember:t=>`The event has no ${t}.`,missing:"missing"}}};var Z=class extends Error{constructor(n){super(n.detail);this.body=n}},G=class{#e="";#t="";key(e){return(e!==this.#e||!this.#t)&&([this.#e,this.#t]=[e,crypto.randomUUID()]),this.#t}},Se=class{constructor(e){this.session=e}get(e,n){return this.#e("GET",e,{query:n})}patch(e,n){return this.#e("PATCH",e,{body:n})}delete(e,n){return this.#e("DELETE",e,{query:n})}post(e,n){return this.#e("POST",e,{body:n})}create(e,n,i){return this.#e("POST",e,{body:n,once:i.key(JSON.stringify(n))})}async list(e,n,i){let s=await this.get(e,i);return{items:s[n],nextCursor:s.nextCursor}}async#e(e,n,i,s=!1){let a=new URLSearchParams;for(let[h,f]of Object.entries(i.query??{}))f!==void 0&&a.set(h,String(f));let l={Authorization:`Bearer ${await this.session.token()}`};i.body!==void 0&&(l["Content-Type"]="application/json"),i.once&&(l["Idempotency-Key"]=i.once);let p=new URL(`v1/${n}${a.size?`?${a}`:""}`,u.base),c=i.body===void 0?void 0:JSON.stringify(i.body),m;try{m=await fetch(p,{method:e,headers:l,body:c,cache:"no-store",credentials:"omit",redirect:"error"})}catch{throw new Z({...r.problem.unreachable,status:0,code:"unreachable",requestId:""})}if(m.ok)return m.status===204?void 0:await m.json();let g=await tn(m);if(m.status===401){let h=Date.now()-this.session.startedAt<6e4;if(g.body.code==="insufficient_user_authentication"&&!s&&!(h&&this.session.again))return await this.session.signIn(g.body.maxAge??0),this.#e(e,n,i,!0);if(["token_expired","token_invalid"].includes(g.body.code)&&!s){if(await this.session.renew())return this.#e(e,n,i,!0);h||await this.session.signIn()}}throw g}};async function tn(t){let e=await t.json().catch(()=>null);return new Z({title:r.problem.title,detail:r.problem.status(t.status),code:"unknown",requestId:"",...e,status:t.status})}function Ve(t,e="$KEY",n=""){let i=`curl -X POST ${new URL(t,u.base)} -H "Authorization: Bearer ${e}"`;return n?`${i} -H "Content-Type: application/json" -d '${n}'`:i}var z=class extends k{constructor(){super(...arguments);this.appId=""}static{this.properties={org:{attribute:!1},appId:{attribute:!1}}}createRenderRoot(){return this}get isAdmin(){return this.org.role==="admin"}get path(){return`orgs/${encodeURIComponent(this.org.id)}`}get appPath(){return`${this.path}/apps/${encodeURIComponent(this.appId)}`}},nn=/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,$=t=>t.replace(nn,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,"0")}`),C=t=>o`<bdi>${$(t)}</bdi>`,Te=t=>$(JSON.stringify(t,null,2)),rn=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"short"}),sn=new Intl.NumberFormat("en-GB"),E=t=>sn.format(t),Ye=o`<span class="faint">${r.none}</span>`;function b(t,e=Ye){if(!t)return o`<span class="faint">${e}</span>`;let n=new Date(t).toISOString();return o`<time datetime=${n} title=${n}>${rn.format(t)}</time>`}function on(t){let e=Math.max(0,Math.ceil((t-Date.now())/1e3)),n=[[86400,"d"],[3600,"h"],[60,"min"],[1,"s"]],i=n.findIndex(([p])=>e>=p);if(i<0)return"0 s";let[s,a]=[n[i],n[i+1]],l=a?Math.floor(e%s[0]/a[0]):0;return`${Math.floor(e/s[0])} ${s[1]}${a&&l?` ${l} ${a[1]}`:""}`}var We=class extends k{constructor(){super(...arguments);this.until=0;this.#e=0}static{this.properties={until:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=window.setInterval(()=>this.requestUpdate(),1e3)}disconnectedCallback(){super.disconnectedCallback(),clearInterval(this.#e)}render(){return r.keys.endsIn(on(this.until))}};customElements.define("lk-left",We);var an={active:"good",enabled:"good",delivered:"good",claimed:"good",pending:"wait",held:"wait",replaced:"wait",failed:"bad",revoked:"bad",disabled:"bad",admin:"accent",service:"accent"},U=(t,e=an[t]??"quiet")=>o`<span class="badge ${e}">${t}</span>`,_=t=>o`<code>${$(t)}</code>`,Ce=t=>t.map(e=>r.keys.limit(E(e.requests),e.per)).join(", ");function A(t,e){let n=t instanceof Z?t.body:null;return o`
    <div class="problem" role="alert">
      <strong>${n?.title??r.problem.title}</strong>
      <p>${$(n?.detail??String(t))}</p>
      ${n?.errors?.length?o`
        <ul>${n.errors.map(i=>o`<li><code>${$(i.pointer)}</code> ${$(i.message)}</li>`)}</ul>`:d}
      ${n?.requestId?o`<p class="small">${r.problem.requestId} <code>${n.requestId}</code></p>`:d}
      ${e?o`<button @click=${e}>${r.again}</button>`:d}
    </div>`}function q(t,e,n){return o`
    <div class="scroll card" role="region" tabindex="0" aria-label=${t}>
      <table role="table" aria-label=${t}>
        <thead role="rowgroup"><tr role="row">
          ${e.map(i=>o`<th role="columnheader" scope="col" class=${i.kind??""}>${i.kind==="actions"?o`<span class="sr">${i.label}</span>`:i.label}</th>`)}
        </tr></thead>
        <tbody role="rowgroup">${n.map(i=>o`
          <tr role="row">${e.map(s=>o`
            <td role="cell" class=${s.kind??""} data-label=${s.kind?"":s.label}>${s.cell(i)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`}var ee=(t,e,n=d)=>o`
  <div class="head">
    <div>${u.isEmbedded?o`<h2 class="title">${t}</h2>`:o`<h1 tabindex="-1">${t}</h1>`}<p>${e}</p></div>
    <div class="actions">${n}</div>
  </div>`,Pt=(t,e)=>t.find(n=>n.id===e)??t.find(n=>n.isDefault)??t[0];function Mt(t,e,n){return t.length<2?d:o`
    <div class="app-choice"><label for="app">${r.app}</label>
      <select id="app" @change=${i=>n(i.target.value)}>${t.map(i=>o`
        <option value=${i.id} ?selected=${i===e}>${$(i.name)}</option>`)}</select></div>`}var R=(t,e,n=d,i="")=>o`
  <div class="empty card">
    ${ne("empty")}<h2>${t}</h2><p>${e}</p>
    ${i?Je(i):d}
    ${n}
  </div>`,Je=t=>o`
  <div class="command"><pre tabindex="0">${t}</pre>${Ge(t)}</div>`;function Ge(t,e=r.copy,n=""){return o`<button type="button" class=${n} @click=${async s=>{let a=s.currentTarget;try{await navigator.clipboard.writeText(t)}catch{return x(r.notCopied)}x(r.copied),a.classList.add("done"),setTimeout(()=>a.classList.remove("done"),1500)}}>${ne("copy")}${e}</button>`}function x(t){window.dispatchEvent(new CustomEvent("lk-announce",{detail:t}))}var te=t=>o`
  <dl class="facts">${t.map(([e,n])=>o`<div><dt>${e}</dt><dd>${n}</dd></div>`)}</dl>`,ln={org:v`<path d="M4 21V5l8-2v18M12 9l8 2v10M2 21h20M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17v.01"/>`,members:v`<circle cx="9" cy="8" r="3.5"/>
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5"/>`,keys:v`<circle cx="8" cy="16" r="4.5"/><path d="m11.2 12.8 8.3-8.3M16 8l3.5 3.5"/>`,links:v`<path d="M10 14a4.5 4.5 0 0 0 6.5 0l3-3A4.6 4.6 0 0 0 13 4.5l-1 1M14 10a4.5 4.5 0 0 0-6.5 0l-3 3A4.6 4.6 0 0 0 11 19.5l1-1"/>`,endpoints:v`<path d="M3 12h6M15 12h6"/><circle cx="12" cy="12" r="3"/><path d="M18 9l3 3-3 3"/>`,events:v`<path d="M3 12h4l3-8 4 16 3-8h4"/>`,audit:v`<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7"/>`,reference:v`<path d="M12 6.5C10 5 7 4.5 3 4.5v14c4 0 7 .5 9 2 2-1.5 5-2 9-2v-14c-4 0-7 .5-9 2zM12 6.5v14"/>`,verify:v`<path d="M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8.5 12l2.5 2.5 4.5-5"/>`,close:v`<path d="M6 6l12 12M18 6 6 18"/>`,copy:v`<rect x="9" y="9" width="11" height="11" rx="2"/>
    <path d="M15 5.5V5a1.5 1.5 0 0 0-1.5-1.5h-8A1.5 1.5 0 0 0 4 5v8a1.5 1.5 0 0 0 1.5 1.5H6"/>`,empty:v`<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5"/>`},ne=t=>o`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${ln[t]}</svg>`;var B=class{constructor(e,n){this.host=e;this.read=n;this.items=[];this.ready=!1;this.busy=!1;this.error=null;this.#t=0}#e;#t;get hasMore(){return this.#e!==void 0}load(){return this.#n(void 0)}more(){return this.busy?Promise.resolve():this.#n(this.#e)}async#n(e){let n=++this.#t;this.busy=!0,this.error=null,this.host.requestUpdate();try{let i=await this.read(e);if(n!==this.#t)return;this.items=e===void 0?i.items:[...this.items,...i.items],this.#e=i.nextCursor,this.ready=!0}catch(i){n===this.#t&&(this.error=i)}n===this.#t&&(this.busy=!1,this.host.requestUpdate())}view(e,n,i=""){let s=this.error?A(this.error,()=>this.ready?this.more():this.load()):d;return this.ready?o`
      ${this.hasMore&&i?o`<button class="more" ?disabled=${this.busy} @click=${()=>this.more()}>${i}</button>`:d}
      ${this.items.length?e(this.items):n}
      ${s}
      ${this.hasMore&&!i&&!this.error?o`<lk-more .busy=${this.busy} @more=${()=>this.more()}></lk-more>`:d}`:this.error?s:D()}},D=()=>o`
  <div class="skeleton" role="status"><span class="sr">${r.loading}</span><i></i><i></i><i></i></div>`,Qe=class extends k{constructor(){super(...arguments);this.busy=!1;this.#e=null}static{this.properties={busy:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=new IntersectionObserver(n=>{n.some(i=>i.isIntersecting)&&this.#t()})}disconnectedCallback(){super.disconnectedCallback(),this.#e?.disconnect()}updated(){this.#e?.unobserve(this),this.busy||this.#e?.observe(this)}#t(){this.busy||this.dispatchEvent(new CustomEvent("more"))}render(){return o`<button class="more" ?disabled=${this.busy} @click=${this.#t}>${this.busy?r.loading:r.more}</button>`}};customElements.define("lk-more",Qe);var Q=100,dn=t=>t.parts.reduce((e,n)=>e+n.value,0);function Ie(t){let e=Math.max(1,...t.bars.map(l=>Math.max(dn(l),l.shade??0))),n=t.line&&t.line.value<=e*5?t.line:null,i=Q/(Math.max(e,n?.value??0)*1.05),s=t.bars[0]?.parts??[],a=[{label:t.unit,cell:l=>l.label},...s.map((l,p)=>({label:l.name,kind:"number",cell:c=>E(c.parts[p].value)})),...t.shadeName?[{label:t.shadeName,kind:"number",cell:l=>l.shade==null?r.none:E(l.shade)}]:[]];return o`
    <figure class="chart">
      <figcaption>${t.title}<span class="legend">
        ${s.map(l=>o`<span><i class=${l.tone}></i>${l.name}</span>`)}
        ${t.shadeName?o`<span><i class="shade"></i>${t.shadeName}</span>`:d}
        ${t.line?o`<span><i class="line"></i>${t.line.name}${n?"":` (${r.chart.above})`}</span>`:d}
      </span></figcaption>
      <div class="plot">
        <span class="scale">${E(Math.max(e,n?.value??0))}</span>
        <svg viewBox="0 0 ${t.bars.length} ${Q}" preserveAspectRatio="none" role="img" aria-label=${t.title}>
          ${t.bars.map((l,p)=>cn(l,p,i))}
          ${n?v`<line x1="0" x2=${t.bars.length} y1=${Q-n.value*i} y2=${Q-n.value*i}/>`:d}
        </svg>
      </div>
      <div class="ends"><span>${t.bars[0]?.label}</span><span>${t.bars.at(-1)?.label}</span></div>
      <details><summary>${r.chart.table}</summary>${q(t.title,a,[...t.bars].reverse())}</details>
    </figure>`}function Ot(t,e,n){let i=[...e,n].sort((c,m)=>c.at-m.at),[s,a]=[i[0].at,i.at(-1).at],l=c=>a===s?0:(c-s)/(a-s)*100,p=i.map(c=>`${c.label} ${new Date(c.at).toISOString().slice(0,10)}`).join(", ");return o`
    <figure class="chart">
      <figcaption>${t}</figcaption>
      <svg class="life" role="img" aria-label="${t}: ${p}">
        <line x1="0%" x2="100%" y1="8" y2="8"/><line class="past" x1="0%" x2="${l(n.at)}%" y1="8" y2="8"/>
        ${i.map((c,m)=>v`
          <circle class=${c===n?"now":""} cx="${l(c.at)}%" cy="8" r="5"/>
          <text x="${l(c.at)}%" y=${m>0&&m<i.length-1?42:28} text-anchor=${l(c.at)<50?"start":"end"}>${c.label}</text>`)}
      </svg>
    </figure>`}function cn(t,e,n){let i=Q,s=[...t.parts.map(a=>`${a.name} ${E(a.value)}`),...t.shade==null?[]:[`≤ ${E(t.shade)}`]].join(", ");return v`<g><title>${t.label}: ${s}</title>
    <rect class="hit" x=${e} y="0" width="1" height=${Q}/>
    ${t.shade?v`<rect class="shade" x=${e+.12} y=${Q-t.shade*n} width="0.76" height=${t.shade*n}/>`:d}
    ${t.parts.filter(a=>a.value>0).map(a=>{let l=a.value*n;return i-=l,v`<rect class=${a.tone} x=${e+.12} y=${i} width="0.76" height=${l}/>`})}</g>`}var Pe=class extends k{constructor(){super(...arguments);this.options={title:""};this.content=null;this.#e=pn();this.#t="";this.#n=n=>{this.#t=n.detail,this.requestUpdate()}}#e;#t;#n;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),window.addEventListener("lk-announce",this.#n)}disconnectedCallback(){super.disconnectedCallback(),window.removeEventListener("lk-announce",this.#n)}firstUpdated(){this.querySelector("dialog")?.showModal(),(this.querySelector("form input, form select, .first")??this.querySelector("h2"))?.focus()}close(){this.querySelector("dialog")?.close(),this.#s()}#i(n){this.options.sticky&&n.preventDefault()}#r(n){this.options.drawer&&n.target===n.currentTarget&&this.close()}#s(){this.content&&(this.content=null,this.remove(),this.#e?.isConnected?this.#e.focus():document.querySelector("lk-dialog")||document.querySelector("h1")?.focus())}render(){let{title:n,drawer:i,sticky:s}=this.options;return o`
      <dialog class=${i?"drawer":"modal"} aria-labelledby="dialog-title" @close=${this.#s} @cancel=${this.#i}
        @click=${this.#r}>
        <div class="dialog-body">
          <div class="dialog-head">
            <h2 id="dialog-title" tabindex="-1">${n}</h2>
            ${s?d:o`
              <button class="plain" aria-label=${r.close} @click=${this.close}>${ne("close")}</button>`}
          </div>
          ${this.content?.(this)}
          <div class="said" role="status" aria-live="polite">${this.#t?o`<p>${this.#t}</p>`:d}</div>
        </div>
      </dialog>`}};customElements.define("lk-dialog",Pe);function pn(){let t=document.activeElement;for(;t?.shadowRoot?.activeElement;)t=t.shadowRoot.activeElement;return t}function S(t,e){let n=new Pe;return n.options=t,n.content=e,u.home.appendChild(n),n}function T(t){let e=!1,n=null;return S({title:t.title},i=>o`
      <form @submit=${async a=>{if(a.preventDefault(),!e){e=!0,n=null,i.requestUpdate();try{await t.run(new FormData(a.target)),i.close()}catch(l){n=l}e=!1,i.requestUpdate()}}}>
        ${t.intro?o`<div class="intro">${t.intro}</div>`:d}
        ${t.fields?.(i)}
        ${n?A(n):d}
        <footer>
          <button type="button" @click=${()=>i.close()}>${r.cancel}</button>
          <button class=${t.danger?"danger":"primary"} ?disabled=${e}>${e?r.working:t.submit}</button>
        </footer>
      </form>`)}var hn=t=>t.error??(t.status===null?r.none:`HTTP ${t.status}`),mn=t=>t.error===null&&t.status!==null&&t.status>=200&&t.status<300,un=t=>o`
  <li>
    ${U(hn(t),mn(t)?"good":"bad")} ${b(t.at)}
    <span class="faint">${r.deliveries.took(E(t.durationMs))}</span>
    ${t.body?o`<pre tabindex="0">${$(t.body)}</pre>`:d}
  </li>`;function Xe(t,e,n){return o`
    <article class="delivery">
      <div class="delivery-head">
        <div>${U(t.status)} ${e}</div>
        ${n&&t.status!=="pending"?o`<button @click=${()=>n(t)}>${r.deliveries.again}</button>`:d}
      </div>
      <p class="small faint">
        ${r.deliveries.attempts(t.attempts)}${t.nextAttemptAt?o` · ${r.deliveries.next} ${b(t.nextAttemptAt)}`:d}
        ${t.deliveredAt?o` · ${r.deliveries.at} ${b(t.deliveredAt)}`:d}
      </p>
      ${t.lastAttempt?o`<ol class="attempts">${[t.lastAttempt,...t.earlierAttempts].map(un)}</ol>`:o`<p class="small faint">${r.deliveries.noAttempt}</p>`}
    </article>`}async function Ze(t,e){await u.api.post(`${t}/webhook_deliveries/redeliver`,{endpointId:e.endpointId,eventId:e.eventId}),x(r.deliveries.queued(1))}function ce(t,e,n){let i=null,s=null,a=!1,l=null,p=0,c=async()=>{try{let f=encodeURIComponent(e);i??=await u.api.get(`${t}/webhook_events/${f}`);let w=await u.api.list(`${t}/webhook_deliveries`,"deliveries",{eventId:e});s=w.items,a=w.nextCursor!==void 0,l=null}catch(f){l=f}g.requestUpdate();let h=s?.length===0||s?.some(f=>f.status==="pending"&&f.lastAttempt===null);!l&&h&&g.isConnected&&p++<8&&setTimeout(c,1500)},m=h=>{Ze(t,h).then(()=>(p=0,c()),f=>{l=f,g.requestUpdate()})},g=S({title:r.events.one,drawer:!0},()=>o`
    ${l?A(l):d}
    ${i?o`
      ${te([[r.events.type,_(i.type)],[r.id,_(i.id)],[r.events.at,b(i.createdAt)]])}
      <h3>${r.events.payload}</h3>
      ${i.data===null?o`<p class="note">${r.events.hidden}</p>`:o`<pre class="payload" tabindex="0">${Te(i.data)}</pre>`}
      <h3>${r.deliveries.title}</h3>`:d}
    ${s?o`
      ${s.map(h=>Xe(h,C(h.endpointOrigin??h.endpointId),n?m:null))}
      ${s.length?d:o`<p class="note">${r.deliveries.none}</p>`}
      ${a?o`<p class="small faint">${r.deliveries.bounded}</p>`:d}
      <button @click=${()=>{p=0,c()}}>${r.refresh}</button>`:l?d:D()}`);return c(),g}var Ut=(t,e)=>o`
  <div class="field">
    <label for="f-${t.name}">${t.label}</label>
    ${e}
    ${t.help?o`<p class="help" id="h-${t.name}">${t.help}</p>`:d}
  </div>`,Rt=t=>t.help?`h-${t.name}`:d,j=t=>Ut(t,o`
  <input id="f-${t.name}" name=${t.name} type=${t.type??"text"} .defaultValue=${t.value??""} ?required=${t.required}
    maxlength=${t.max??d} pattern=${t.pattern??d} placeholder=${t.placeholder??d}
    autocomplete="off" spellcheck="false" aria-describedby=${Rt(t)}>`),N=t=>Ut(t,o`
  <select id="f-${t.name}" name=${t.name} aria-describedby=${Rt(t)}
    @change=${e=>t.change?.(e.target.value)}>
    ${t.options.map(([e,n])=>o`<option value=${e} ?selected=${e===t.value}>${n}</option>`)}
  </select>`),et=(t,e,n)=>o`
  <div class="check">
    <input type="checkbox" id="f-${t}" name=${t} aria-describedby="h-${t}">
    <div><label for="f-${t}">${e}</label><p class="help" id="h-${t}">${n}</p></div>
  </div>`,Dt=["minute","hour","day","month"],tt=t=>o`
  <fieldset>
    <legend>${r.keys.limits}</legend>
    <div class="four">${Dt.map(e=>o`
      <div class="field">
        <label for="f-limit-${e}">${r.keys.per(e)}</label>
        <input id="f-limit-${e}" name="limit-${e}" type="number" min="1" max="1000000000" inputmode="numeric"
          .defaultValue=${String(t.find(n=>n.per===e)?.requests??"")} aria-describedby="h-limits">
      </div>`)}
    </div>
    <p class="help" id="h-limits">${r.keys.limitsHelp}</p>
  </fieldset>`,nt=t=>Dt.map(e=>({requests:Number(t.get(`limit-${e}`)),per:e})).filter(e=>e.requests>0),he=(t,e)=>String(t.get(e)??"").split(/[\s,]+/).filter(Boolean),H=(t,e)=>String(t.get(e)??"").trim(),pe=class{#e;constructor(e){this.#e=Object.entries(e)}value(){return Object.fromEntries(this.#e.filter(([e])=>e!==""))}view(e){let n=(a,l)=>p=>{a[l]=p.target.value},i=a=>{this.#e=this.#e.filter(l=>l!==a),e.requestUpdate()},s=async()=>{this.#e.push(["",""]),e.requestUpdate(),await e.updateComplete,e.querySelector(".pair:last-of-type input")?.focus()};return o`
      <fieldset>
        <legend>${r.keys.metadata}</legend>
        ${this.#e.map(a=>o`
          <div class="pair">
            <input aria-label=${r.keys.metadataName} placeholder=${r.keys.metadataName} .value=${a[0]} @input=${n(a,0)}>
            <textarea rows="1" aria-label=${r.keys.metadataValue} placeholder=${r.keys.metadataValue} .value=${a[1]}
              @input=${n(a,1)}></textarea>
            <button type="button" class="plain" aria-label=${r.remove} @click=${()=>i(a)}>${ne("close")}</button>
          </div>`)}
        <button type="button" class="small-button" @click=${s}>${r.keys.metadataAdd}</button>
        <p class="help">${r.keys.metadataHelp}</p>
      </fieldset>`}};var Oe=36e5,gn=3e5,fn=20,bn=5,Me=[24,6,2],it=class extends z{#e=new B(this,e=>u.api.list(`${this.appPath}/webhook_endpoints`,"endpoints",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e.load()}#t(e){return`${this.appPath}/webhook_endpoints/${encodeURIComponent(e.id)}`}#n(){let e=new G;T({title:r.endpoints.create,submit:r.create,intro:r.endpoints.createIntro,fields:()=>o`
        ${j({label:r.endpoints.url,name:"url",type:"url",required:!0,max:2048,placeholder:"https://example.com/hooks"})}
        ${j({label:r.endpoints.events,name:"events",value:"*",required:!0,help:r.endpoints.eventsHelp})}
        ${j({label:r.endpoints.description,name:"description",max:200})}`,run:async n=>{await u.api.create(`${this.appPath}/webhook_endpoints`,{url:H(n,"url"),events:he(n,"events"),description:H(n,"description")||null},e),await this.#e.load(),x(r.endpoints.created)}})}async#i(e){try{let{eventId:n}=await u.api.post(`${this.#t(e)}/test`);ce(this.appPath,n,!0),x(r.endpoints.tested)}catch(n){S({title:r.endpoints.test},()=>A(n))}}#r(e){let n=!e.enabled;T({title:n?r.endpoints.enable:r.endpoints.disable,submit:n?r.endpoints.enable:r.endpoints.disable,danger:!n,intro:o`<p><code>${$(e.url)}</code></p><p>${n?r.endpoints.enableIntro:r.endpoints.disableIntro}</p>`,run:async()=>{await u.api.patch(this.#t(e),{enabled:n}),await this.#e.load(),x(r.saved)}})}#s(e){T({title:r.endpoints.delete,submit:r.endpoints.delete,danger:!0,intro:o`<p><code>${$(e.url)}</code></p><p>${r.endpoints.deleteIntro}</p>`,run:async()=>{await u.api.delete(this.#t(e)),await this.#e.load(),x(r.endpoints.deleted)}})}#a(e){let n=null,i=null,s=[],a=0,l=!1,p=0,c=null,m=(y,P)=>u.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:e.id,since:y,limit:100,cursor:P}),g=async()=>{p=(Math.floor(Date.now()/Oe)+1-Me[a])*Oe;let y=await m(p),P=y.items;for(let me=1;me<bn&&y.nextCursor;me++)y=await m(p,y.nextCursor),P.push(...y.items);return l=y.nextCursor!==void 0,!l||a===Me.length-1?P:(a++,g())},h=async()=>{try{n=await u.api.get(this.#t(e)),i=await g(),s=(l?(await m(Date.now()-gn)).items:i).slice(-fn).reverse(),c=null}catch(y){c=y}I.requestUpdate()},f=y=>{Ze(this.appPath,y).then(async()=>{for(let P=0;P<5&&I.isConnected;P++)await h(),await new Promise(me=>setTimeout(me,1500))},P=>{c=P,I.requestUpdate()})},w=y=>()=>{I.close(),y.call(this,e)},I=S({title:r.endpoints.one,drawer:!0},()=>o`
      <p class="intro"><code class="wrap">${$(e.url)}</code></p>
      <div class="row">
        <button @click=${w(this.#i)}>${r.endpoints.test}</button>
        <button @click=${w(this.#r)}>${e.enabled?r.endpoints.disable:r.endpoints.enable}</button>
        <button class="danger-text" @click=${w(this.#s)}>${r.endpoints.delete}</button>
      </div>
      ${c?A(c):d}
      ${i?yn(i,p,Me[a]):c?d:D()}
      ${l?o`<p class="small faint">${r.endpoints.bounded}</p>`:d}
      ${te([[r.status,this.#o(n??e)],...n?.pausedUntil&&n.pausedUntil>Date.now()?[[r.endpoints.paused,b(n.pausedUntil)]]:[],...n?[[r.endpoints.held,E(n.heldCount??0)]]:[],[r.endpoints.events,o`<span class="chips">${e.events.map(_)}</span>`],[r.endpoints.description,e.description?C(e.description):r.none],[r.id,_(e.id)],[r.created,b(e.createdAt)],[r.endpoints.createdBy,e.createdByKey?_(e.createdByKey):r.endpoints.admin],...e.urlSetByKey?[[r.endpoints.setBy,_(e.urlSetByKey)]]:[]])}
      <h3>${r.endpoints.last}</h3>
      ${s.map(y=>Xe(y,o`
        <button class="link" @click=${()=>ce(this.appPath,y.eventId,!0)}><code>${$(y.eventType)}</code></button>
        ${b(y.createdAt)}`,f))}
      ${i?.length===0?o`<p class="note">${r.endpoints.quiet(Me[a])}</p>`:d}`);h()}#o(e){return e.enabled&&e.failingSince?o`${U(r.endpoints.failing,"bad")}<div class="sub">${r.endpoints.since} ${b(e.failingSince)}</div>`:e.enabled?U(r.endpoints.enabled,"good"):o`${U(r.endpoints.disabled,"bad")}
      <div class="sub">${r.endpoints.reasons[e.disabledReason??""]??e.disabledReason}, ${b(e.disabledAt)}</div>`}render(){let e=o`<button class="primary" @click=${this.#n}>${r.endpoints.create}</button>`;return o`
      ${ee(r.endpoints.title,r.endpoints.about,this.#e.items.length?e:d)}
      ${this.#e.view(n=>q(r.endpoints.title,[{label:r.endpoints.url,kind:"main",cell:i=>o`
          <button class="link" @click=${()=>this.#a(i)}><span class="url">${$(i.url)}</span></button>
          ${i.description?o`<div class="sub">${C(i.description)}</div>`:d}`},{label:r.endpoints.events,cell:i=>o`<span class="chips">${i.events.slice(0,3).map(_)}${i.events.length>3?o`<span class="faint">+${i.events.length-3}</span>`:d}</span>`},{label:r.status,cell:i=>this.#o(i)},{label:r.created,cell:i=>b(i.createdAt)},{label:r.actions,kind:"actions",cell:i=>o`
          <button ?disabled=${!i.enabled} @click=${()=>this.#i(i)}>${r.endpoints.testShort}</button>
          <button @click=${()=>this.#r(i)}>${i.enabled?r.endpoints.disableShort:r.endpoints.enableShort}</button>`}],n),R(r.endpoints.none,r.endpoints.noneAbout,e))}`}};customElements.define("lk-endpoints",it);function yn(t,e,n){let i=Array.from({length:n},(s,a)=>{let l=e+a*Oe,p=t.filter(h=>h.createdAt>=l&&h.createdAt<l+Oe),c=(...h)=>p.filter(f=>h.includes(f.status)).length,[m,g]=[c("delivered"),c("failed")];return{label:new Date(l).toLocaleTimeString("en-GB",{hour:"2-digit",minute:"2-digit"}),parts:[{name:r.deliveries.delivered,tone:"good",value:m},{name:r.deliveries.failed,tone:"bad",value:g},{name:r.deliveries.waiting,tone:"wait",value:p.length-m-g}]}});return Ie({title:r.endpoints.hours(n),bars:i,unit:r.endpoints.hour})}var rt=100,vn=10,ie=36e5,Nt=[[`${ie}`,r.events.hour],[`${24*ie}`,r.events.day],[`${168*ie}`,r.events.week],[`${720*ie}`,r.events.month]],st=class extends z{#e=`${24*ie}`;#t=0;#n="";#i=new B(this,async e=>{let n=[];for(let i=0;i<vn;i++){let s=await u.api.list(`${this.appPath}/webhook_events`,"events",e?{cursor:e,limit:rt}:{since:this.#t,limit:rt});if(n.push(...s.items),e=s.nextCursor,s.items.length<rt)return{items:n}}return{items:n,nextCursor:e}});connectedCallback(){super.connectedCallback(),this.#r()}#r(){this.#t=Date.now()-Number(this.#e),this.#i.load()}async#s(){let e;try{e=await u.api.list(`${this.appPath}/webhook_endpoints`,"endpoints",{limit:100})}catch(n){return void S({title:r.deliveries.allAgain},()=>A(n))}if(e.items.length===0)return x(`${r.endpoints.none}.`);T({title:r.deliveries.allAgain,submit:r.deliveries.again,intro:r.deliveries.allIntro,fields:()=>o`
        ${N({label:r.endpoints.url,name:"endpointId",options:e.items.map(n=>[n.id,$(n.url)])})}
        ${N({label:r.events.since,name:"since",options:Nt,value:`${24*ie}`})}`,run:async n=>{let i={endpointId:H(n,"endpointId"),since:Date.now()-Number(n.get("since")),status:"failed"},s=0,a;do{let l=a?{...i,cursor:a}:i,p=await u.api.post(`${this.appPath}/webhook_deliveries/redeliver`,l);s+=p.queued,a=p.nextCursor}while(a);x(r.deliveries.queued(s))}})}render(){let e=[...new Set(this.#i.items.map(i=>i.type))].sort(),n=i=>i.filter(s=>!this.#n||s.type===this.#n).reverse();return o`
      ${ee(r.events.title,r.events.about,o`
        <button @click=${this.#r}>${r.refresh}</button>
        ${this.isAdmin?o`<button @click=${this.#s}>${r.deliveries.allAgain}</button>`:d}`)}
      <div class="filters">
        ${N({label:r.events.since,name:"span",options:Nt,value:this.#e,change:i=>{this.#e=i,this.#r()}})}
        ${N({label:r.events.type,name:"type",value:this.#n,options:[["",r.events.every],...e.map(i=>[i,i])],change:i=>{this.#n=i,this.requestUpdate()}})}
      </div>
      ${this.#i.view(i=>q(r.events.title,[{label:r.events.type,kind:"main",cell:s=>o`
          <button class="link" @click=${()=>ce(this.appPath,s.id,this.isAdmin)}><code>${$(s.type)}</code></button>`},{label:r.events.at,cell:s=>b(s.createdAt)},{label:r.id,cell:s=>_(s.id)}],n(i)),R(r.events.none,r.events.noneAbout,this.isAdmin&&!u.isEmbedded?o`<a class="button" href="#/orgs/${this.org.id}/endpoints/${this.appId}">${r.endpoints.title}</a>`:d),r.events.newer)}`}};customElements.define("lk-events",st);var Ht=30,$n=t=>new Date(t).toISOString().slice(0,10);function Lt(t){let e=[...t.limits,...t.ceilings].filter(n=>n.per==="day").map(n=>n.requests);return e.length?Math.min(...e):null}function zt(t,e,n){let i=null,s=null,a=!1;return l=>{if(a||(a=!0,u.api.get(`${t}/keys/${encodeURIComponent(e.id)}/usage`).then(m=>{i=m.days},m=>{s=m}).finally(()=>l.requestUpdate())),s)return A(s);if(!i)return D();if(i.length===0)return o`<p class="note">${r.usage.none}</p>`;let p=new Map(i.map(m=>[m.date,m])),c=Array.from({length:Ht},(m,g)=>{let h=$n(Date.now()-(Ht-1-g)*864e5),f=p.get(h);return{label:h,shade:f?f.atMost:0,parts:[{name:r.usage.requests,tone:"accent",value:f?.requests??0}]}});return Ie({title:r.usage.title,bars:c,unit:r.usage.day,shadeName:r.usage.atMost,line:n===null?void 0:{value:n,name:r.usage.limit(E(n))}})}}var wn=7*864e5,L=86400,kn=[["",r.keys.never],[`${L}`,r.keys.days(1)],[`${7*L}`,r.keys.days(7)],[`${30*L}`,r.keys.days(30)],[`${90*L}`,r.keys.days(90)],[`${365*L}`,r.keys.days(365)]],xn=[["0",r.keys.graceNone],["3600",r.keys.hours(1)],[`${L}`,r.keys.hours(24)],[`${3*L}`,r.keys.days(3)],[`${7*L}`,r.keys.days(7)]],ot=class extends z{#e=new B(this,e=>u.api.list(`${this.path}/keys`,"keys",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e.load()}#t(e){return e.revokedAt?"revoked":e.expiresAt&&e.expiresAt<=Date.now()?"expired":e.rotatedTo?"replaced":"active"}#n(e){return this.#t(e)==="active"}#i(e){return["active","replaced"].includes(this.#t(e))}#r(){let e=new G,n=new pe({});T({title:r.keys.create,submit:r.keys.create,fields:i=>o`
        ${j({label:r.name,name:"name",max:100,help:r.keys.nameHelp})}
        <div class="two">
          ${N({label:r.app,name:"appId",options:(u.apps.get(this.org.id)??[]).map(s=>[s.id,s.name])})}
          ${N({label:r.keys.expires,name:"expiresIn",options:kn})}
        </div>
        ${this.#s([])}${n.view(i)}${tt([])}`,run:async i=>{let s=Number(i.get("expiresIn"));this.#a(await u.api.create(`${this.path}/keys`,{name:H(i,"name")||null,appId:H(i,"appId")||null,expiresIn:s||null,scopes:he(i,"scopes"),metadata:n.value(),limits:nt(i)},e)),await this.#e.load()}})}#s(e){return j({label:r.keys.scopes,name:"scopes",value:e.join(" "),help:r.keys.scopesHelp,placeholder:"invoices:read"})}#a(e){let n=e.key;S({title:r.keys.shownTitle,sticky:!0},i=>o`
      <p class="intro">${r.keys.shownIntro}</p>
      <div class="secret"><code id="new-key">${n}</code></div>
      <div class="row">${Ge(n,r.keys.copyKey,"primary first")}</div>
      <h3>${r.keys.try}</h3>
      ${Je(Ve("app/get",n))}
      <footer><button @click=${()=>i.close()}>${r.keys.shownDone}</button></footer>`)}#o(e){let n=new G;T({title:r.keys.rotateTitle,submit:r.keys.rotate,intro:o`<p>${this.#l(e)}</p><p>${r.keys.rotateIntro}</p>`,fields:()=>N({label:r.keys.grace,name:"grace",options:xn,value:`${L}`,help:r.keys.graceHelp}),run:async i=>{let s={graceSeconds:Number(i.get("grace"))};this.#a(await u.api.create(`${this.path}/keys/${e.id}/rotate`,s,n)),await this.#e.load()}})}#d(e){T({title:r.keys.revokeTitle,submit:r.keys.revoke,danger:!0,intro:o`<p>${this.#l(e)}</p><p>${r.keys.revokeIntro}</p>`,fields:()=>o`
        ${et("endpoints",r.keys.alsoEndpoints,r.keys.alsoEndpointsHelp)}
        ${et("links",r.keys.alsoLinks,r.keys.alsoLinksHelp)}`,run:async n=>{let i=n.has("endpoints"),s=n.has("links");await u.api.delete(`${this.path}/keys/${e.id}`,{endpoints:i?"disable":void 0,links:s?"revoke":void 0}),await this.#e.load(),x(r.keys.revoked(i,s))}})}#h(e){let n=new pe(e.metadata);T({title:r.keys.edit,submit:r.save,fields:i=>o`
        ${j({label:r.name,name:"name",value:e.name,max:100,required:e.name!==""})}
        ${this.#s(e.scopes)}${n.view(i)}${tt(e.limits)}
        ${e.ceilings.length?o`
          <p class="note">${r.keys.ceilings}: ${Ce(e.ceilings)}. ${r.keys.ceilingsHelp}</p>`:d}`,run:async i=>{await u.api.patch(`${this.path}/keys/${e.id}`,{name:H(i,"name")||null,scopes:he(i,"scopes"),metadata:n.value(),limits:nt(i)}),await this.#e.load(),x(r.saved)}})}#m(e){let n=zt(this.path,e,Lt(e)),i=(s,a)=>()=>{s.close(),a.call(this,e)};S({title:r.keys.details,drawer:!0},s=>o`
      <p class="intro">${this.#l(e)} ${this.#p(e)}</p>
      ${this.isAdmin&&this.#i(e)?o`<div class="row">
        <button @click=${i(s,this.#h)}>${r.edit}</button>
        ${this.#n(e)?o`<button @click=${i(s,this.#o)}>${r.keys.rotate}</button>`:d}
        <button class="danger-text" @click=${i(s,this.#d)}>${r.keys.revoke}</button></div>`:d}
      ${n(s)}
      ${Ot(r.usage.life,[{label:r.created,at:e.createdAt},...e.expiresAt?[{label:e.rotatedTo?r.keys.ends:r.keys.expires,at:e.expiresAt}]:[],...e.revokedAt?[{label:r.keys.revokedAt,at:e.revokedAt}]:[]],{label:r.usage.now,at:Date.now()})}
      ${te([[r.id,_(e.id)],[r.app,C(u.appName(this.org,e.appId))],[r.created,b(e.createdAt)],[r.keys.lastUsed,b(e.lastUsedAt,r.keys.neverUsed)],[r.keys.expires,b(e.expiresAt,r.keys.never)],...e.revokedAt?[[r.keys.revokedAt,b(e.revokedAt)]]:[],...e.rotatedTo?[[r.keys.rotatedTo,_(e.rotatedTo)]]:[],[r.keys.scopes,this.#c(e)],[r.keys.limits,Ce(e.limits)||r.none],[r.keys.ceilings,e.ceilings.length?o`${Ce(e.ceilings)} <span class="faint">${r.keys.ceilingsHelp}</span>`:r.none],[r.keys.metadata,Object.keys(e.metadata).length?o`<pre tabindex="0">${Te(e.metadata)}</pre>`:r.none]])}`)}#l(e){return o`<strong>${e.name?C(e.name):r.keys.unnamed}</strong> <code>${e.keyPrefix}…</code>`}#c(e){return e.scopes.length?o`<span class="chips">${e.scopes.map(n=>o`<code>${n}</code>`)}</span>`:Ye}#p(e){let n=this.#t(e),i=this.#i(e)&&e.expiresAt&&e.expiresAt-Date.now()<=wn;return o`${U(n)}${i?o`<lk-left class="sub" .until=${e.expiresAt}></lk-left>`:d}`}render(){let e=this.isAdmin?o`<button class="primary" @click=${this.#r}>${r.keys.create}</button>`:d;return o`
      ${ee(r.keys.title,r.keys.about,this.#e.items.length?e:d)}
      ${this.#e.view(n=>q(r.keys.title,[{label:r.keys.key,kind:"main",cell:i=>o`
          <button class="link" @click=${()=>this.#m(i)}>${i.name?C(i.name):r.keys.unnamed}</button>
          <div class="sub"><code>${i.keyPrefix}…</code> · ${C(u.appName(this.org,i.appId))}</div>`},{label:r.keys.scopes,cell:i=>this.#c(i)},{label:r.keys.lastUsed,cell:i=>b(i.lastUsedAt,r.keys.neverUsed)},{label:r.keys.expires,cell:i=>b(i.expiresAt,r.keys.never)},{label:r.status,cell:i=>this.#p(i)},{label:r.actions,kind:"actions",cell:i=>this.isAdmin&&this.#i(i)?o`
          ${this.#n(i)?o`<button @click=${()=>this.#o(i)}>${r.keys.rotate}</button>`:d}
          <button class="danger-text" @click=${()=>this.#d(i)}>${r.keys.revoke}</button>`:d}],n),R(r.keys.none,this.isAdmin?r.keys.noneAbout:r.keys.noneMember,e,this.isAdmin?Ve("app/get"):""))}`}};customElements.define("lk-keys",ot);var qt=[fe(It),De`
  :host { display: block; margin-block: 1.5rem; color-scheme: inherit; color: var(--text) }
  .pages { padding: 0 }
  .pages > * + * { margin-top: 2rem }`],at=class{constructor(e){this.give=e;this.startedAt=0;this.again=!1}#e;async token(){let e=this.#e??this.give({});return this.#e=void 0,e}async renew(){return this.#e=await this.give({fresh:!0}),!0}async signIn(e){this.#e=await this.give({fresh:!0,maxAge:e})}},Ue=class extends k{constructor(){super(...arguments);this.org="";this.app="";this.#t=!1;this.#n=null}static{this.styles=qt}static{this.properties={org:{},app:{},token:{attribute:!1}}}#e;#t;#n;willUpdate(n){(n.has("token")||n.has("org"))&&this.token&&this.org&&this.#i(this.token)}async#i(n){this.#t=!1,this.#n=null,u.api=new Se(new at(n));try{await u.reload(),this.#e=u.orgs.find(i=>i.id===this.org),this.#e&&this.#e.role!=="viewer"&&await u.reloadApps(this.#e),this.#t=!0}catch(i){this.#n=i}this.requestUpdate()}render(){if(this.#n)return A(this.#n,()=>{this.#i(this.token)});if(!this.#t)return D();let n=this.#e;if(!n)return R(r.nav.noOrg,r.nav.noOrgAbout);if(n.role==="viewer")return R(r.nav.noPage,r.nav.noPageAbout);let i=u.apps.get(n.id)??[],s=Pt(i,this.app);return o`
      <div class="pages">
        ${this.ofApp&&!this.getAttribute("app")?Mt(i,s,a=>{this.app=a}):d}
        ${Ct(`${n.id}/${s?.id}`,this.pages(n,s?.id??""))}
      </div>`}get ofApp(){return!1}},lt=class extends Ue{pages(e){return o`<lk-keys .org=${e}></lk-keys>`}};customElements.define("latchkey-keys",lt);var dt=class extends Ue{get ofApp(){return!0}pages(e,n){return o`
      ${e.role==="admin"?o`<lk-endpoints .org=${e} .appId=${n}></lk-endpoints>`:d}
      <lk-events .org=${e} .appId=${n}></lk-events>`}};customElements.define("latchkey-webhooks",dt);function An(){let t=document.createElement("div"),e=t.attachShadow({mode:"open"});be(e,qt);let n=document.createElement("div");n.className="said",n.role="status",e.append(n);let i=0;return window.addEventListener("lk-announce",s=>{let a=document.createElement("p");a.textContent=s.detail,n.replaceChildren(a),clearTimeout(i),i=window.setTimeout(()=>n.replaceChildren(),5e3)}),document.body.append(t),e}u.isEmbedded=!0;u.base=new URL("../..",import.meta.url);u.home=An();
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
