var y=["link.claimed","link.expired","link.revoked","key.created","key.updated","key.revoked","key.expiring","key.leaked","key.limit_near","key.limit_reached","org.allowance_near","org.allowance_reached","endpoint.created","endpoint.updated","endpoint.deleted","endpoint.disabled","test"];var Te=globalThis,Ie=Te.ShadowRoot&&(Te.ShadyCSS===void 0||Te.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,tt=Symbol(),It=new WeakMap,be=class{constructor(e,n,s){if(this._$cssResult$=!0,s!==tt)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=n}get styleSheet(){let e=this.o,n=this.t;if(Ie&&e===void 0){let s=n!==void 0&&n.length===1;s&&(e=It.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),s&&It.set(n,e))}return e}toString(){return this.cssText}},Pe=t=>new be(typeof t=="string"?t:t+"",void 0,tt),nt=(t,...e)=>{let n=t.length===1?t[0]:e.reduce((s,r,o)=>s+(l=>{if(l._$cssResult$===!0)return l.cssText;if(typeof l=="number")return l;throw Error("Value passed to 'css' function must be a 'css' function result: "+l+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(r)+t[o+1],t[0]);return new be(n,t,tt)},Ce=(t,e)=>{if(Ie)t.adoptedStyleSheets=e.map(n=>n instanceof CSSStyleSheet?n:n.styleSheet);else for(let n of e){let s=document.createElement("style"),r=Te.litNonce;r!==void 0&&s.setAttribute("nonce",r),s.textContent=n.cssText,t.appendChild(s)}},st=Ie?t=>t:t=>t instanceof CSSStyleSheet?(e=>{let n="";for(let s of e.cssRules)n+=s.cssText;return Pe(n)})(t):t;var{is:_n,defineProperty:Sn,getOwnPropertyDescriptor:Tn,getOwnPropertyNames:In,getOwnPropertySymbols:Pn,getPrototypeOf:Cn}=Object,Ue=globalThis,Pt=Ue.trustedTypes,Un=Pt?Pt.emptyScript:"",Mn=Ue.reactiveElementPolyfillSupport,ve=(t,e)=>t,it={toAttribute(t,e){switch(e){case Boolean:t=t?Un:null;break;case Object:case Array:t=t==null?t:JSON.stringify(t)}return t},fromAttribute(t,e){let n=t;switch(e){case Boolean:n=t!==null;break;case Number:n=t===null?null:Number(t);break;case Object:case Array:try{n=JSON.parse(t)}catch{n=null}}return n}},Ut=(t,e)=>!_n(t,e),Ct={attribute:!0,type:String,converter:it,reflect:!1,useDefault:!1,hasChanged:Ut};Symbol.metadata??=Symbol("metadata"),Ue.litPropertyMetadata??=new WeakMap;var B=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,n=Ct){if(n.state&&(n.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((n=Object.create(n)).wrapped=!0),this.elementProperties.set(e,n),!n.noAccessor){let s=Symbol(),r=this.getPropertyDescriptor(e,s,n);r!==void 0&&Sn(this.prototype,e,r)}}static getPropertyDescriptor(e,n,s){let{get:r,set:o}=Tn(this.prototype,e)??{get(){return this[n]},set(l){this[n]=l}};return{get:r,set(l){let p=r?.call(this);o?.call(this,l),this.requestUpdate(e,p,s)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??Ct}static _$Ei(){if(this.hasOwnProperty(ve("elementProperties")))return;let e=Cn(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(ve("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(ve("properties"))){let n=this.properties,s=[...In(n),...Pn(n)];for(let r of s)this.createProperty(r,n[r])}let e=this[Symbol.metadata];if(e!==null){let n=litPropertyMetadata.get(e);if(n!==void 0)for(let[s,r]of n)this.elementProperties.set(s,r)}this._$Eh=new Map;for(let[n,s]of this.elementProperties){let r=this._$Eu(n,s);r!==void 0&&this._$Eh.set(r,n)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let n=[];if(Array.isArray(e)){let s=new Set(e.flat(1/0).reverse());for(let r of s)n.unshift(st(r))}else e!==void 0&&n.push(st(e));return n}static _$Eu(e,n){let s=n.attribute;return s===!1?void 0:typeof s=="string"?s:typeof e=="string"?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,n=this.constructor.elementProperties;for(let s of n.keys())this.hasOwnProperty(s)&&(e.set(s,this[s]),delete this[s]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return Ce(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,n,s){this._$AK(e,s)}_$ET(e,n){let s=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,s);if(r!==void 0&&s.reflect===!0){let o=(s.converter?.toAttribute!==void 0?s.converter:it).toAttribute(n,s.type);this._$Em=e,o==null?this.removeAttribute(r):this.setAttribute(r,o),this._$Em=null}}_$AK(e,n){let s=this.constructor,r=s._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let o=s.getPropertyOptions(r),l=typeof o.converter=="function"?{fromAttribute:o.converter}:o.converter?.fromAttribute!==void 0?o.converter:it;this._$Em=r;let p=l.fromAttribute(n,o.type);this[r]=p??this._$Ej?.get(r)??p,this._$Em=null}}requestUpdate(e,n,s,r=!1,o){if(e!==void 0){let l=this.constructor;if(r===!1&&(o=this[e]),s??=l.getPropertyOptions(e),!((s.hasChanged??Ut)(o,n)||s.useDefault&&s.reflect&&o===this._$Ej?.get(e)&&!this.hasAttribute(l._$Eu(e,s))))return;this.C(e,n,s)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(e,n,{useDefault:s,reflect:r,wrapped:o},l){s&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,l??n??this[e]),o!==!0||l!==void 0)||(this._$AL.has(e)||(this.hasUpdated||s||(n=void 0),this._$AL.set(e,n)),r===!0&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(n){Promise.reject(n)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[r,o]of this._$Ep)this[r]=o;this._$Ep=void 0}let s=this.constructor.elementProperties;if(s.size>0)for(let[r,o]of s){let{wrapped:l}=o,p=this[r];l!==!0||this._$AL.has(r)||p===void 0||this.C(r,void 0,o,p)}}let e=!1,n=this._$AL;try{e=this.shouldUpdate(n),e?(this.willUpdate(n),this._$EO?.forEach(s=>s.hostUpdate?.()),this.update(n)):this._$EM()}catch(s){throw e=!1,this._$EM(),s}e&&this._$AE(n)}willUpdate(e){}_$AE(e){this._$EO?.forEach(n=>n.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(n=>this._$ET(n,this[n])),this._$EM()}updated(e){}firstUpdated(e){}};B.elementStyles=[],B.shadowRootOptions={mode:"open"},B[ve("elementProperties")]=new Map,B[ve("finalized")]=new Map,Mn?.({ReactiveElement:B}),(Ue.reactiveElementVersions??=[]).push("2.1.2");var ot=globalThis,Mt=t=>t,Me=ot.trustedTypes,Ot=Me?Me.createPolicy("lit-html",{createHTML:t=>t}):void 0,at="$lit$",z=`lit$${Math.random().toFixed(9).slice(2)}$`,lt="?"+z,On=`<${lt}>`,X=document,we=()=>X.createComment(""),ke=t=>t===null||typeof t!="object"&&typeof t!="function",dt=Array.isArray,qt=t=>dt(t)||typeof t?.[Symbol.iterator]=="function",rt=`[ 	
\f\r]`,$e=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Dt=/-->/g,Rt=/>/g,Q=RegExp(`>|${rt}(?:([^\\s"'>=/]+)(${rt}*=${rt}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),Lt=/'/g,Nt=/"/g,Bt=/^(?:script|style|textarea|title)$/i,ct=t=>(e,...n)=>({_$litType$:t,strings:e,values:n}),a=ct(1),$=ct(2),Ts=ct(3),ee=Symbol.for("lit-noChange"),d=Symbol.for("lit-nothing"),Ht=new WeakMap,Z=X.createTreeWalker(X,129);function zt(t,e){if(!dt(t)||!t.hasOwnProperty("raw"))throw Error("invalid template strings array");return Ot!==void 0?Ot.createHTML(e):e}var Kt=(t,e)=>{let n=t.length-1,s=[],r,o=e===2?"<svg>":e===3?"<math>":"",l=$e;for(let p=0;p<n;p++){let c=t[p],u,m,h=-1,g=0;for(;g<c.length&&(l.lastIndex=g,m=l.exec(c),m!==null);)g=l.lastIndex,l===$e?m[1]==="!--"?l=Dt:m[1]!==void 0?l=Rt:m[2]!==void 0?(Bt.test(m[2])&&(r=RegExp("</"+m[2],"g")),l=Q):m[3]!==void 0&&(l=Q):l===Q?m[0]===">"?(l=r??$e,h=-1):m[1]===void 0?h=-2:(h=l.lastIndex-m[2].length,u=m[1],l=m[3]===void 0?Q:m[3]==='"'?Nt:Lt):l===Nt||l===Lt?l=Q:l===Dt||l===Rt?l=$e:(l=Q,r=void 0);let v=l===Q&&t[p+1].startsWith("/>")?" ":"";o+=l===$e?c+On:h>=0?(s.push(u),c.slice(0,h)+at+c.slice(h)+z+v):c+z+(h===-2?p:v)}return[zt(t,o+(t[n]||"<?>")+(e===2?"</svg>":e===3?"</math>":"")),s]},xe=class t{constructor({strings:e,_$litType$:n},s){let r;this.parts=[];let o=0,l=0,p=e.length-1,c=this.parts,[u,m]=Kt(e,n);if(this.el=t.createElement(u,s),Z.currentNode=this.el.content,n===2||n===3){let h=this.el.content.firstChild;h.replaceWith(...h.childNodes)}for(;(r=Z.nextNode())!==null&&c.length<p;){if(r.nodeType===1){if(r.hasAttributes())for(let h of r.getAttributeNames())if(h.endsWith(at)){let g=m[l++],v=r.getAttribute(h).split(z),O=/([.?@])?(.*)/.exec(g);c.push({type:1,index:o,name:O[2],strings:v,ctor:O[1]==="."?De:O[1]==="?"?Re:O[1]==="@"?Le:ne}),r.removeAttribute(h)}else h.startsWith(z)&&(c.push({type:6,index:o}),r.removeAttribute(h));if(Bt.test(r.tagName)){let h=r.textContent.split(z),g=h.length-1;if(g>0){r.textContent=Me?Me.emptyScript:"";for(let v=0;v<g;v++)r.append(h[v],we()),Z.nextNode(),c.push({type:2,index:++o});r.append(h[g],we())}}}else if(r.nodeType===8)if(r.data===lt)c.push({type:2,index:o});else{let h=-1;for(;(h=r.data.indexOf(z,h+1))!==-1;)c.push({type:7,index:o}),h+=z.length-1}o++}}static createElement(e,n){let s=X.createElement("template");return s.innerHTML=e,s}};function te(t,e,n=t,s){if(e===ee)return e;let r=s!==void 0?n._$Co?.[s]:n._$Cl,o=ke(e)?void 0:e._$litDirective$;return r?.constructor!==o&&(r?._$AO?.(!1),o===void 0?r=void 0:(r=new o(t),r._$AT(t,n,s)),s!==void 0?(n._$Co??=[])[s]=r:n._$Cl=r),r!==void 0&&(e=te(t,r._$AS(t,e.values),r,s)),e}var Oe=class{constructor(e,n){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=n}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:n},parts:s}=this._$AD,r=(e?.creationScope??X).importNode(n,!0);Z.currentNode=r;let o=Z.nextNode(),l=0,p=0,c=s[0];for(;c!==void 0;){if(l===c.index){let u;c.type===2?u=new oe(o,o.nextSibling,this,e):c.type===1?u=new c.ctor(o,c.name,c.strings,this,e):c.type===6&&(u=new Ne(o,this,e)),this._$AV.push(u),c=s[++p]}l!==c?.index&&(o=Z.nextNode(),l++)}return Z.currentNode=X,r}p(e){let n=0;for(let s of this._$AV)s!==void 0&&(s.strings!==void 0?(s._$AI(e,s,n),n+=s.strings.length-2):s._$AI(e[n])),n++}},oe=class t{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,n,s,r){this.type=2,this._$AH=d,this._$AN=void 0,this._$AA=e,this._$AB=n,this._$AM=s,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,n=this._$AM;return n!==void 0&&e?.nodeType===11&&(e=n.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,n=this){e=te(this,e,n),ke(e)?e===d||e==null||e===""?(this._$AH!==d&&this._$AR(),this._$AH=d):e!==this._$AH&&e!==ee&&this._(e):e._$litType$!==void 0?this.$(e):e.nodeType!==void 0?this.T(e):qt(e)?this.k(e):this._(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==d&&ke(this._$AH)?this._$AA.nextSibling.data=e:this.T(X.createTextNode(e)),this._$AH=e}$(e){let{values:n,_$litType$:s}=e,r=typeof s=="number"?this._$AC(e):(s.el===void 0&&(s.el=xe.createElement(zt(s.h,s.h[0]),this.options)),s);if(this._$AH?._$AD===r)this._$AH.p(n);else{let o=new Oe(r,this),l=o.u(this.options);o.p(n),this.T(l),this._$AH=o}}_$AC(e){let n=Ht.get(e.strings);return n===void 0&&Ht.set(e.strings,n=new xe(e)),n}k(e){dt(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,s,r=0;for(let o of e)r===n.length?n.push(s=new t(this.O(we()),this.O(we()),this,this.options)):s=n[r],s._$AI(o),r++;r<n.length&&(this._$AR(s&&s._$AB.nextSibling,r),n.length=r)}_$AR(e=this._$AA.nextSibling,n){for(this._$AP?.(!1,!0,n);e!==this._$AB;){let s=Mt(e).nextSibling;Mt(e).remove(),e=s}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},ne=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,n,s,r,o){this.type=1,this._$AH=d,this._$AN=void 0,this.element=e,this.name=n,this._$AM=r,this.options=o,s.length>2||s[0]!==""||s[1]!==""?(this._$AH=Array(s.length-1).fill(new String),this.strings=s):this._$AH=d}_$AI(e,n=this,s,r){let o=this.strings,l=!1;if(o===void 0)e=te(this,e,n,0),l=!ke(e)||e!==this._$AH&&e!==ee,l&&(this._$AH=e);else{let p=e,c,u;for(e=o[0],c=0;c<o.length-1;c++)u=te(this,p[s+c],n,c),u===ee&&(u=this._$AH[c]),l||=!ke(u)||u!==this._$AH[c],u===d?e=d:e!==d&&(e+=(u??"")+o[c+1]),this._$AH[c]=u}l&&!r&&this.j(e)}j(e){e===d?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??"")}},De=class extends ne{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===d?void 0:e}},Re=class extends ne{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==d)}},Le=class extends ne{constructor(e,n,s,r,o){super(e,n,s,r,o),this.type=5}_$AI(e,n=this){if((e=te(this,e,n,0)??d)===ee)return;let s=this._$AH,r=e===d&&s!==d||e.capture!==s.capture||e.once!==s.once||e.passive!==s.passive,o=e!==d&&(s===d||r);r&&this.element.removeEventListener(this.name,this,s),o&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},Ne=class{constructor(e,n,s){this.element=e,this.type=6,this._$AN=void 0,this._$AM=n,this.options=s}get _$AU(){return this._$AM._$AU}_$AI(e){te(this,e)}},jt={M:at,P:z,A:lt,C:1,L:Kt,R:Oe,D:qt,V:te,I:oe,H:ne,N:Re,U:Le,B:De,F:Ne},Dn=ot.litHtmlPolyfillSupport;Dn?.(xe,oe),(ot.litHtmlVersions??=[]).push("3.3.3");var Ft=(t,e,n)=>{let s=n?.renderBefore??e,r=s._$litPart$;if(r===void 0){let o=n?.renderBefore??null;s._$litPart$=r=new oe(e.insertBefore(we(),o),o,void 0,n??{})}return r._$AI(t),r};var pt=globalThis,S=class extends B{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let n=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Ft(n,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return ee}};S._$litElement$=!0,S.finalized=!0,pt.litElementHydrateSupport?.({LitElement:S});var Rn=pt.litElementPolyfillSupport;Rn?.({LitElement:S});(pt.litElementVersions??=[]).push("4.2.2");var Wt=t=>(...e)=>({_$litDirective$:t,values:e}),He=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,n,s){this._$Ct=e,this._$AM=n,this._$Ci=s}_$AS(e,n){return this.update(e,n)}update(e,n){return this.render(...n)}};var{I:Ys}=jt;var Ln={},Vt=(t,e=Ln)=>t._$AH=e;var Yt=Wt(class extends He{constructor(){super(...arguments),this.key=d}render(t,e){return this.key=t,e}update(t,[e,n]){return e!==this.key&&(Vt(t),this.key=e),n}});var Jt=`/* The one stylesheet of the console. */
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
.pages { min-width: 0; padding: 2rem 2rem 4rem; container-type: inline-size }
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
.facts > div { display: grid; grid-template-columns: minmax(7rem, 11rem) minmax(0, 1fr); gap: 1rem }
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
`;var f={base:new URL(".",location.href),home:document.body,isEmbedded:!1,byServices:!1,keyPrefix:"",maxKeyDays:0,readSettings:()=>Promise.resolve(),session:null},qe=class{constructor(e,n){this.api=e;this.changed=n;this.orgs=[];this.apps=new Map}async reload(){this.orgs=await this.api.all("orgs","orgs"),this.changed()}async reloadApps(e){this.apps.set(e.id,await this.api.all(`orgs/${e.id}/apps`,"apps")),this.changed()}appName(e,n){return this.apps.get(e.id)?.find(s=>s.id===n)?.name??n}};var ae=(t,e)=>`${t} ${e}${t===1?"":"s"}`,i={product:"Latchkey",ago:t=>t<1?"in the last hour":t<48?`${ae(t,"hour")} ago`:`${ae(Math.floor(t/24),"day")} ago`,loading:"Loading…",working:"Working…",more:"Load more",again:"Try again",refresh:"Refresh",close:"Close",cancel:"Cancel",create:"Create",save:"Save",saved:"Saved.",doneNotRead:"It is done, but this page could not be read again",edit:"Edit",rename:"Rename",remove:"Remove",copy:"Copy",csv:"Download CSV",copied:"Copied.",notCopied:"The browser did not let the page copy. Select the text and copy it.",none:"–",name:"Name",id:"Id",app:"App",status:"Status",created:"Created",actions:"Actions",problem:{title:"Something went wrong",status:t=>`The server answered ${t}.`,requestId:"Request id",ended:"The page acts for another person now. Nothing was sent.",unreachable:{title:"No answer",detail:"The server cannot be reached. Check your connection and try again."}},signIn:{title:"You are not signed in",button:"Sign in",signOut:"Sign out",out:"You are signed out",outAbout:"This page has forgotten your sign-in.",again:"You signed in again. Please repeat what you were about to do.",kept:"You signed in again. What you had entered is kept: open the form again.",filled:"You had to sign in again. Nothing was sent yet: look at what you entered, and send it.",filledUnsure:"You had to sign in again. What you sent before may have been done. Send the same again: it is not done twice.",notKept:"A URL can have a secret in it, so it was not kept: enter it again.",unreachable:"The console cannot reach its server. Check your connection and try again.",noConfig:t=>`The console has no settings: the server answered ${t}.`,lost:"The sign-in was begun in another tab, or too long ago. Sign in once more.",refused:t=>`The sign-in did not succeed: ${t}`},held:{secret:"Only its button closes this, because it is not shown again.",form:"What you entered would be lost. Cancel closes this.",leaveSecret:"What is shown here is not shown again. Leave without it?",leaveForm:"Leave? What you entered will be lost."},nav:{menu:"Org",skip:"Skip to the content",org:"Overview",members:"Members",keys:"API keys",links:"Links",endpoints:"Webhook endpoints",deliveries:"Deliveries",events:"Events",audit:"Audit log",reference:"API reference",noOrg:"No such org",noOrgAbout:"There is no such org, or you are not a member of it.",noPage:"Nothing to see here",noPageAbout:"There is no such page, or your role in this org does not open it."},roles:{admin:"manages members, keys and webhooks",member:"sees members, keys, links and events",viewer:"sees the org alone"},orgs:{title:"Your orgs",one:"Org",all:"All orgs",about:"An org has members, and apps with API keys, links and webhooks.",oneAbout:"The org and its apps.",create:"New org",createIntro:"You become its admin. A first app is made with it.",created:"The org is made.",none:"You are in no org yet",noneAbout:"Make one to create API keys, or ask an admin to add you to theirs.",noneByServices:"Ask an admin of an org to add you.",role:"Role",addedBy:"Added by",externalId:"External id",allowance:"Allowance of all keys",plan:"Plan",suspended:"This org is suspended since",suspendedAbout:"Its API keys are refused. What it has can be read and ended, and nothing can be made or widened.",viewer:"You are a viewer of this org. An admin can give you another role.",rename:"Rename org",leave:"Leave org",leaveIntro:"You lose access at once. An org keeps at least one admin.",left:"You left the org.",delete:"Delete org",deleteIntro:"All its API keys stop working at once, and its apps, links and webhooks end. Nobody can undo this.",typeName:"To confirm, type the name of the org:",otherName:"This is not the name of the org.",deleted:"The org is deleted."},apps:{title:"Apps",about:"An app owns API keys, links and webhook endpoints.",create:"New app",createIntro:"Make an app for each product or environment, such as staging.",rename:"Rename app",default:"default",keysBeginWith:"Its API keys begin with",keysBeginWithHelp:t=>`${t}, or ${t} and more letters or digits.`},members:{title:"Members",about:"The people of this org, and what they may do.",person:"Person",joined:"Joined",you:"you",add:"Add member",addSubmit:"Add",addIntro:"The person must have signed in here once, with this email verified.",email:"Email",added:"The member is added.",role:"Role",changeRole:"Change role",remove:"Remove member",removeIntro:"They lose access at once. API keys that they made stay good until you revoke them, which is the next question.",removed:"The member is removed.",keys:"API keys that they made",revoke:"Revoke the ticked keys",keysRevoked:"The keys are revoked.",keysIntro:"The member is removed, and may have copied these keys. Tick those to revoke: they are refused at once.",noneTicked:"Tick the keys to revoke, or cancel to keep all of them."},keys:{title:"API keys",about:"What your servers send to prove who they are.",key:"Key",create:"New API key",unnamed:"Unnamed key",none:"No API keys yet",noneAbout:"Create a key, put it in place of $KEY, and send a first request:",noneMember:"An admin of this org can create one.",nameHelp:"For you, to tell keys apart.",expires:"Expires",ends:"Rotated: ends",never:"Never",lastUsed:"Last used",neverUsed:"Never",by:"by",byService:"a service of the owner",search:"Search",use:"Use",anyUse:"All keys",unused:"Not used for 90 days",noneShown:"No key is like this.",today:t=>`${t} requests today (UTC)`,days:t=>`After ${ae(t,"day")}`,hours:t=>`After ${ae(t,"hour")}`,scopes:"Scopes",scopesHelp:"What the key may do at the endpoints behind it, separated by spaces.",metadata:"Metadata",metadataName:"Name",metadataValue:"Value",metadataAdd:"Add a value",metadataHelp:"Passed to the endpoints with each request of the key; at most 1 KB.",limits:"Limits",per:t=>`per ${t}`,limit:(t,e)=>`${t} per ${e}`,limitsHelp:"How many requests are let through; at most three of the four. Empty is no limit.",ceilings:"Ceilings",ceilingsHelp:"Set by the owner of this service; both hold.",shownTitle:"Your new API key",shownIntro:"Copy it now and keep it safe. It is shown this once, and nobody can show it again.",leaked:"found in public",leakedAt:"The text of this key was found in public:",leakedTitle:"The texts of API keys were found in public. Who has a text can use its key until you revoke it:",stillGood:"still good",isDead:"no longer good",locator:"Locator",copyLocator:"Copy for support",copyKey:"Copy key",shownDone:"I have saved the key",try:"Try it",details:"API key",edit:"Edit API key",revokedAt:"Revoked",rotatedTo:"Replaced by",rotate:"Rotate",rotateTitle:"Rotate API key",rotateIntro:"A new key takes its place, with the same name, app, scopes, metadata and limits.",asBefore:"After as long as the old one",newExpires:"The new key expires",neverAsBefore:"Never, as the old one",grace:"The old key ends",graceNone:"At once",graceHelp:"Until then both keys work.",endsIn:t=>`ends in ${t}`,revoke:"Revoke",revokeTitle:"Revoke API key",revokeIntro:"Every request with this key is refused at once. Nobody can undo this.",alsoEndpoints:"Also disable its endpoints",alsoEndpointsHelp:"Webhook endpoints that the key made or set. If not, they go on getting events.",alsoLinks:"Also revoke its links",alsoLinksHelp:"Pending links that the key made. If not, they can still be claimed.",revoked:(t,e)=>["The key is revoked.",t?"Its endpoints are disabled; an admin can enable them.":"Endpoints that it made or set are as they were.",e?"Its pending links can no longer be claimed; the list shows it within minutes.":"Links that it made can still be claimed."].join(" ")},usage:{title:"Requests in the last 30 days (UTC)",requests:"Requests",atMost:"At most",day:"Day",limit:t=>`Limit of ${t} a day`,life:"Life of the key",now:"now",none:"Nothing was counted for this key alone in the last 30 days. A key without limits of its own is counted alone only where the deployment counts all.",together:"An allowance of the org is counted for all its keys together; its admins see how much is used.",ofOrg:(t,e,n)=>`All keys of the org share an allowance of ${t}. Counted for the org as a whole: ${e} requests today, ${n} this month (UTC).`,asWhole:"This key has no limits of its own: it is counted for the org as a whole.",month:"Use in this month",byDay:"Requests by day (UTC)",today:(t,e)=>`${t} of ${e} today, new at 00:00 UTC`,ofMonth:(t,e)=>`${t} of ${e} this month, new on the first of the next at 00:00 UTC`,refused:"Refused requests",why:"How many at least, and why",refusedAbout:"With the right text of this key, or of one that it replaced. What is not written yet is missing.",from:(t,e)=>`${t} to ${e}`,atLeast:t=>`at least ${t}`},chart:{table:"Show as a table",above:"above the chart"},catalogue:{other:"Others",strange:"Not in the catalogue",unsent:"Nothing sends this type",every:"Every type of event",type:"Type",example:"Send example",exampleShort:"Example",exampleIntro:'The endpoint gets an event of this type with "test": true beside it, so that your receiver can leave it out.'},links:{title:"Links",about:"Invitations that your server made, each for one device of a user.",user:"User",device:"Device",expires:"Expires",ended:"Claimed or revoked",none:"No links yet",noneAbout:"Your server makes one with an API key of this app:",revoke:"Revoke link",revokeShort:"Revoke",revokeIntro:"Nobody can claim it any more.",revoked:"The link is revoked."},endpoints:{title:"Webhook endpoints",one:"Webhook endpoint",about:"Where the events of this app are sent.",url:"URL",events:"Events",eventsHelp:"Types separated by spaces. * is every type; link.* is every type that begins so.",description:"Description",create:"New endpoint",createIntro:"It gets each event as a signed POST. Verify the signature before you trust it.",created:"The endpoint is made.",none:"No webhook endpoints yet",noneAbout:"Register a URL of your server to be told of links, keys and more as they change.",enabled:"enabled",disabled:"disabled",failing:"failing",since:"since",paused:"Paused until",reasons:{admin:"by an admin",user:"with an API key",gone:"it answered 410",failing:"it failed for 5 days"},test:"Send test event",testShort:"Test",tested:"A test event is on its way.",enable:"Enable endpoint",enableShort:"Enable",enableIntro:"Deliveries that are held go on.",disable:"Disable endpoint",disableShort:"Disable",disableIntro:"No attempt begins any more. Deliveries are held until an admin enables it.",delete:"Delete endpoint",deleteIntro:"Deliveries that wait are cancelled. Nobody can undo this.",deleted:"The endpoint is deleted.",held:"Held deliveries",createdBy:"Made by",setBy:"URL or events set by",admin:"an admin",last:"Last deliveries",hours:t=>`Deliveries of the last ${t} hours`,hour:"Hour",bounded:"There were more than 500: the bars show the newest of them.",quiet:t=>`No event of the last ${t} hours is for this endpoint.`},events:{title:"Events",one:"Event",about:"What happened in this app, kept for 30 days. An event is listed 10 seconds after it happened.",type:"Type",at:t=>`When (${t})`,payload:"Payload",since:"Since",every:"Every type",hour:"the last hour",day:"the last 24 hours",week:"the last 7 days",month:"the last 30 days",older:"Older",noneYet:"Of the events that are loaded, none is of this type.",hidden:"Only admins see the payload of events about webhook endpoints.",none:"No events in this time",noneAbout:"Events appear when links are claimed, keys change, or an endpoint is tested."},deliveries:{title:"Deliveries",delivered:"Delivered",failed:"Failed",waiting:"Waiting",again:"Send again",allAgain:"Send failed again",allIntro:"Every failed delivery to one endpoint since a time is sent once more.",attempts:t=>ae(t,"attempt"),next:"next",at:"delivered",took:t=>`${t} ms`,noAttempt:"No attempt yet.",none:"No endpoint gets this event.",bounded:"Only the first deliveries are shown.",paused:"the endpoint is paused",every:"Every state",noneLike:"No delivery is like this.",all:"All deliveries",retried:"Failed, to be tried again",queued:t=>t===0?"Nothing to send again.":`${t===1?"One delivery":`${t} deliveries`} will be sent again.`},audit:{title:"Audit log",about:"Who did what in this org. Entries are kept for 400 days.",what:"Action",who:"By",target:"Target",changes:"Changes",service:"service",holder:"someone with its text",source:"found at",every:"All",none:"No entries",noneAbout:"What members and keys do appears here.",noneSuch:"No such entries",noneYet:"None of the newest entries is such. Older ones may be.",targetId:"Target id",from:"From",to:"Until",actions:{"org.created":"Org made","org.updated":"Org changed","org.suspended":"Org suspended","org.resumed":"Org resumed","org.deleted":"Org deleted","user.stopped":"Person stopped","user.resumed":"Person no longer stopped","user.signed_out":"Person signed out","user.erased":"Person erased","member.added":"Member added","member.role_changed":"Role changed","member.removed":"Member removed","member.left":"Member left","key.created":"API key made","key.imported":"API key imported","key.updated":"API key changed","key.rotated":"API key rotated","key.revoked":"API key revoked","key.leaked":"API key leaked","key.links_revoked":"Links of an API key revoked","app.created":"App made","app.updated":"App changed","endpoint.created":"Endpoint made","endpoint.updated":"Endpoint changed","endpoint.deleted":"Endpoint deleted","endpoint.tested":"Endpoint tested","endpoint.redelivered":"Deliveries sent again","link.revoked":"Link revoked"},names:{expiresAt:"expires",revokedAt:"revoked",suspendedAt:"suspended",rotatedTo:"replaced by",appId:"app",externalId:"external id",keysBeginWith:"keys begin with",disabledReason:"disabled because"},types:{user:"user",api_key:"API key",org:"org",key:"API key",app:"app",link:"link",endpoint:"endpoint"}},verify:{title:"Verify a webhook",about:"See what a receiver checks. Only the kid of what you paste leaves this page, to fetch its public key.",pasted:"Webhook",pastedHelp:"Its body, or the whole request with its headers.",endpoint:"Endpoint id",endpointHelp:"Of your endpoint: whe_… A receiver must compare it.",issuer:"Issuer",issuerHelp:"The base URL of the API, as a rule.",button:"Verify",result:"Result",why:"What was seen",check:"Check",key:"Public key",event:"Event",code:"A receiver",codeAbout:"Each makes these checks.",good:"This webhook is genuine.",bad:"A receiver refuses this webhook.",old:"This webhook was genuine when it was sent. A receiver refuses it now, because somebody could be sending it again.",open:"All that could be checked is right. Give the endpoint id and the issuer to check the rest.",results:{passed:"passed",failed:"failed",open:"not tried"},checks:{form:"Form",header:"Header",key:"Key",signature:"Signature",audience:"Audience",issuer:"Issuer",times:"Times",event:"Event"},says:{form:"It is three parts in base64url, and objects in JSON.",tooLong:"It is longer than 256 KB.",parts:t=>`It has ${ae(t,"part")} between its dots; a webhook has three.`,notBase64:"A part is no base64url (RFC 4648), or has a second spelling of its bytes.",noJson:"A part is no JSON in UTF-8.",noObject:"A part is JSON, but no object.",twice:"A member of an object is there twice.",header:"alg is ES256, typ is webhook+jwt, and there is no crit.",alg:t=>`alg is ${t}, not "ES256".`,typ:t=>`typ is ${t}, not "webhook+jwt".`,crit:"crit is there: it may demand what a receiver does not know.",kid:"kid is not the base64url of 32 bytes.",key:"The key is known, and was not retired when this was signed.",unknownKey:"No key has this kid.",revokedKey:"The key was revoked: it proves nothing.",retiredKey:"The key had been retired when this was signed.",noKey:"What the API gives for it is no key that verifies.",noAnswer:t=>`The key cannot be looked up now (${t}).`,signature:"The key signed exactly these bytes.",notSigned:"The key did not sign these bytes.",notTried:"It was not tried, because a check before it failed.",audience:"It is for your endpoint.",anyAudience:t=>`It is for ${t}. Is this your endpoint?`,otherAudience:t=>`aud is ${t}, not your endpoint.`,issuer:"It is by your issuer.",anyIssuer:t=>`It is by ${t}.`,otherIssuer:t=>`iss is ${t}, not your issuer.`,times:"It was signed in the last five minutes, and has not expired.",noTime:"iat or exp is no whole number of seconds.",notYet:t=>`It was signed in the future: ${t}.`,tooOld:t=>`It was signed at ${t}, more than five minutes ago.`,event:"The event has an id, a type, a time and data.",noEvent:"There is no event.",noMember:t=>`The event has no ${t}.`,missing:"missing"}}};var I=class extends Error{constructor(n){super(n.detail);this.body=n}};async function Hn(t){let e=await crypto.subtle.digest("SHA-256",new TextEncoder().encode(t));return[...new Uint8Array(e)].map(n=>n.toString(16).padStart(2,"0")).join("")}var Gt=new Set;var Be=class{constructor(e){this.session=e}#e=!1;get hasEnded(){return this.#e}end(){this.#e=!0}get(e,n){return this.#t("GET",e,{query:n})}csv(e,n){return this.#t("GET",e,{query:n,accept:"text/csv"})}patch(e,n){return this.#t("PATCH",e,{body:n})}delete(e,n){return this.#t("DELETE",e,{query:n})}post(e,n){return this.#t("POST",e,{body:n})}async create(e,n,s){return this.#t("POST",e,{body:n,once:await Hn(`${s.get("once")}${JSON.stringify(n)}`)})}async list(e,n,s){let r=await this.get(e,s);return{items:r[n],nextCursor:r.nextCursor}}async all(e,n,s={}){let r=await this.list(e,n,s),o=r.items;for(;r.nextCursor;)r=await this.list(e,n,{...s,limit:100,cursor:r.nextCursor}),o.push(...r.items);return o}async#t(e,n,s,r=!1){let o=new URLSearchParams;for(let[h,g]of Object.entries(s.query??{}))g!==void 0&&o.set(h,String(g));let l={Authorization:`Bearer ${await this.session.token()}`};if(this.#e)throw new Error(i.problem.ended);s.body!==void 0&&(l["Content-Type"]="application/json"),s.once&&(l["Idempotency-Key"]=s.once),s.accept&&(l.Accept=s.accept);let p=new URL(`v1/${n}${o.size?`?${o}`:""}`,f.base),c=s.body===void 0?void 0:JSON.stringify(s.body),u=Ae(p,{method:e,headers:l,body:c,cache:"no-store",credentials:"omit",redirect:"error"});e!=="GET"&&(Gt.add(u),u.then(()=>Gt.delete(u)));let m=await u;if(!(m instanceof I))return m;if(m.body.status===401){let h=Date.now()-this.session.startedAt<6e4,g=m.body.code==="token_ended";if((g||m.body.code==="insufficient_user_authentication")&&!r&&!(h&&this.session.again))return await this.session.signIn(m.body.maxAge??0,g),this.#t(e,n,s,!0);if(["token_expired","token_invalid"].includes(m.body.code)&&!r){if(await this.session.renew())return this.#t(e,n,s,!0);h||await this.session.signIn()}}throw m}},qn=t=>t.headers?.Accept==="text/csv";async function Ae(t,e){try{let n=await fetch(t,e);if(n.ok)return n.status===204?void 0:await(qn(e)?n.text():n.json());let s=await n.json().catch(()=>null);return new I({title:i.problem.title,detail:i.problem.status(n.status),code:"unknown",requestId:"",...s,status:n.status})}catch{return new I({...i.problem.unreachable,status:0,code:"unreachable",requestId:""})}}function ht(t,e="$KEY",n=""){let s=`curl -X POST ${new URL(t,f.base)} -H "Authorization: Bearer ${e}"`;return n?`${s} -H "Content-Type: application/json" -d '${n}'`:s}var Bn=["text","email","number","checkbox","select-one","textarea","hidden"],zn=t=>[...t.elements].filter(e=>e.name),Kn=t=>t.type==="checkbox",jn=t=>Bn.includes(t.type);function Qt(t,{fields:e}){for(let n of zn(t).filter(s=>jn(s)&&!s.name.startsWith("pair-"))){let s=e.find(([r])=>r===n.name)?.[1];Kn(n)?n.checked=s!==void 0:(!(n instanceof HTMLSelectElement)||[...n.options].some(r=>r.value===s))&&(n.value=s??"")}}var le=null,Zt=t=>t!==null&&t.at<=Date.now()&&Date.now()-t.at<9e5;function Xt(t){if(!Zt(le)||le.entered.form!==t)return null;let{entered:e}=le;return le=null,e}function V(t,e){Zt(le)&&le.entered.form===t&&e()}var L=class extends S{constructor(){super(...arguments);this.appId=""}static{this.properties={person:{attribute:!1},org:{attribute:!1},appId:{attribute:!1}}}createRenderRoot(){return this}firstUpdated(){!f.isEmbedded&&!document.querySelector("lk-dialog")&&this.querySelector("h1")?.focus({preventScroll:!0})}get api(){return this.person.api}get isAdmin(){return this.org.role==="admin"}get path(){return`orgs/${encodeURIComponent(this.org.id)}`}get appPath(){return`${this.path}/apps/${encodeURIComponent(this.appId)}`}},Fn=/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,b=t=>t.replace(Fn,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,"0")}`),C=t=>a`<bdi>${b(t)}</bdi>`,ze=t=>b(JSON.stringify(t,null,2)),Wn=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"short"}),en=new Intl.DateTimeFormat("en-GB",{dateStyle:"medium",timeStyle:"medium"}),Vn=new Intl.NumberFormat("en-GB"),w=t=>Vn.format(t),de=a`<span class="faint">${i.none}</span>`;function P(t,e=de,n=Wn){if(!t)return a`<span class="faint">${e}</span>`;let s=new Date(t).toISOString();return a`<time datetime=${s} title=${s}>${n.format(t)}</time>`}function Ke(t,e){if(!t)return a`<span class="faint">${e}</span>`;let n=Math.floor((Date.now()-t)/36e5);return a`<time datetime=${new Date(t).toISOString()} title=${new Date(t).toISOString()}>${i.ago(n)}</time>`}var N=t=>P(t,de,en),se=()=>en.resolvedOptions().timeZone;function Yn(t){let e=Math.max(0,Math.ceil((t-Date.now())/1e3)),n=[[86400,"d"],[3600,"h"],[60,"min"],[1,"s"]],s=n.findIndex(([p])=>e>=p);if(s<0)return"0 s";let[r,o]=[n[s],n[s+1]],l=o?Math.floor(e%r[0]/o[0]):0;return`${Math.floor(e/r[0])} ${r[1]}${o&&l?` ${l} ${o[1]}`:""}`}var mt=class extends S{constructor(){super(...arguments);this.until=0;this.#e=0}static{this.properties={until:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=window.setInterval(()=>this.requestUpdate(),1e3)}disconnectedCallback(){super.disconnectedCallback(),clearInterval(this.#e)}render(){return i.keys.endsIn(Yn(this.until))}};customElements.define("lk-left",mt);var Jn={active:"good",enabled:"good",delivered:"good",claimed:"good",pending:"wait",held:"wait",replaced:"wait",failed:"bad",revoked:"bad",disabled:"bad",admin:"accent",service:"accent"},D=(t,e=Jn[t]??"quiet")=>a`<span class="badge ${e}">${t}</span>`,E=t=>a`<code>${b(t)}</code>`,ce=t=>t.map(e=>i.keys.limit(w(e.requests),e.per)).join(", "),Ee=t=>async e=>{let n=e.currentTarget;if(!n.dataset.busy){n.dataset.busy="1";try{await t()}finally{delete n.dataset.busy}}},tn=t=>t instanceof I&&t.body.status>=400&&t.body.status<500;function A(t,e){let n=t instanceof I?t.body:null;return a`
    <div class="problem" role="alert">
      <strong>${n?.title??i.problem.title}</strong>
      <p>${b(n?.detail??String(t))}</p>
      ${n?.errors?.length?a`
        <ul>${n.errors.map(s=>a`<li><code>${b(s.pointer)}</code> ${b(s.message)}</li>`)}</ul>`:d}
      ${n?.requestId?a`<p class="small">${i.problem.requestId} <code>${n.requestId}</code></p>`:d}
      ${e?a`<button @click=${e}>${i.again}</button>`:d}
    </div>`}function H(t,e,n){return a`
    <div class="scroll card" role="region" tabindex="0" aria-label=${t}>
      <table role="table" aria-label=${t}>
        <thead role="rowgroup"><tr role="row">
          ${e.map(s=>a`<th role="columnheader" scope="col" class=${s.kind??""}>${s.kind==="actions"?a`<span class="sr">${s.label}</span>`:s.label}</th>`)}
        </tr></thead>
        <tbody role="rowgroup">${n.map(s=>a`
          <tr role="row">${e.map(r=>a`
            <td role="cell" class=${r.kind??""} data-label=${r.kind?"":r.label}>${r.cell(s)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`}var Y=(t,e,n=d)=>a`
  <div class="head">
    <div>${f.isEmbedded?a`<h2 class="title">${t}</h2>`:a`<h1 tabindex="-1">${t}</h1>`}<p>${e}</p></div>
    <div class="actions">${n}</div>
  </div>`,nn=(t,e)=>t.find(n=>n.id===e)??t.find(n=>n.isDefault)??t[0];function sn(t,e,n){return t.length<2?d:a`
    <div class="app-choice"><label for="app">${i.app}</label>
      <select id="app" @change=${s=>n(s.target.value)}>${t.map(s=>a`
        <option value=${s.id} ?selected=${s===e}>${b(s.name)}</option>`)}</select></div>`}var K=(t,e,n=d,s="")=>a`
  <div class="empty card">
    ${he("empty")}<h2>${t}</h2><p>${e}</p>
    ${s?ut(s):d}
    ${n}
  </div>`,ut=t=>a`
  <div class="command"><pre tabindex="0">${t}</pre>${je(t)}</div>`;function je(t,e=i.copy,n=""){return a`<button type="button" class=${n} @click=${async r=>{let o=r.currentTarget;try{await navigator.clipboard.writeText(t)}catch{return x(i.notCopied)}x(i.copied),o.classList.add("done"),setTimeout(()=>o.classList.remove("done"),1500)}}>${he("copy")}${e}</button>`}function x(t){window.dispatchEvent(new CustomEvent("lk-announce",{detail:t}))}var gt=t=>x(t instanceof Error?t.message:String(t)),pe=t=>a`
  <dl class="facts">${t.map(([e,n])=>a`<div><dt>${e}</dt><dd>${n}</dd></div>`)}</dl>`,Gn={org:$`<path d="M4 21V5l8-2v18M12 9l8 2v10M2 21h20M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17v.01"/>`,members:$`<circle cx="9" cy="8" r="3.5"/>
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5"/>`,keys:$`<circle cx="8" cy="16" r="4.5"/><path d="m11.2 12.8 8.3-8.3M16 8l3.5 3.5"/>`,links:$`<path d="M10 14a4.5 4.5 0 0 0 6.5 0l3-3A4.6 4.6 0 0 0 13 4.5l-1 1M14 10a4.5 4.5 0 0 0-6.5 0l-3 3A4.6 4.6 0 0 0 11 19.5l1-1"/>`,endpoints:$`<path d="M3 12h6M15 12h6"/><circle cx="12" cy="12" r="3"/><path d="M18 9l3 3-3 3"/>`,events:$`<path d="M3 12h4l3-8 4 16 3-8h4"/>`,audit:$`<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7"/>`,reference:$`<path d="M12 6.5C10 5 7 4.5 3 4.5v14c4 0 7 .5 9 2 2-1.5 5-2 9-2v-14c-4 0-7 .5-9 2zM12 6.5v14"/>`,verify:$`<path d="M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8.5 12l2.5 2.5 4.5-5"/>`,close:$`<path d="M6 6l12 12M18 6 6 18"/>`,copy:$`<rect x="9" y="9" width="11" height="11" rx="2"/>
    <path d="M15 5.5V5a1.5 1.5 0 0 0-1.5-1.5h-8A1.5 1.5 0 0 0 4 5v8a1.5 1.5 0 0 0 1.5 1.5H6"/>`,empty:$`<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5"/>`},he=t=>a`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${Gn[t]}</svg>`;var Fe=class extends S{constructor(){super(...arguments);this.options={title:""};this.content=null;this.person=null;this.keep="";this.isTyped=!1;this.isBusy=!1;this.isUnsure=!1;this.#e=Qn();this.#t="";this.#n="";this.#s=n=>{this.#t=n.detail,this.requestUpdate()};this.#i=n=>{Xn||n.preventDefault()}}#e;#t;#n;#s;#i;get isHeld(){return this.options.secret||this.isTyped||this.isBusy}createRenderRoot(){return this}connectedCallback(){if(super.connectedCallback(),window.addEventListener("lk-announce",this.#s),!this.options.at||f.isEmbedded)return;let[n,s,r,o,l]=location.hash.split("/");this.#n=location.hash===`#/orgs/${this.options.at}`?[n,s,r,o,...l?[l]:[]].join("/"):location.hash,history.replaceState(null,"",`#/orgs/${this.options.at}`)}disconnectedCallback(){super.disconnectedCallback(),window.removeEventListener("lk-announce",this.#s),window.removeEventListener("beforeunload",this.#i)}firstUpdated(){this.querySelector("dialog")?.showModal(),(this.querySelector("form input:not([type=hidden]), form select, .first")??this.querySelector("h2"))?.focus()}updated(){this.isHeld?window.addEventListener("beforeunload",this.#i):window.removeEventListener("beforeunload",this.#i)}close(){this.querySelector("dialog")?.close(),this.#d()}typed(){this.isTyped=!0,this.requestUpdate()}#r(n){this.isHeld&&(n.preventDefault(),x(this.options.secret?i.held.secret:i.held.form))}#o(n){n.key==="Escape"&&this.#r(n)}#a(){this.isHeld&&this.content?this.querySelector("dialog")?.showModal():this.#d()}#l(n){this.options.drawer&&n.target===n.currentTarget&&this.close()}#d(){if(this.content){this.content=null,this.remove(),this.#n&&location.hash===`#/orgs/${this.options.at}`&&history.replaceState(null,"",this.#n);for(let n of es.splice(0))n();this.#e?.isConnected?this.#e.focus():document.querySelector("lk-dialog")||document.querySelector("h1")?.focus()}}render(){let{title:n,drawer:s,secret:r}=this.options;return a`
      <dialog class=${s?"drawer":"modal"} aria-labelledby="dialog-title" closedby=${this.isHeld?"none":"closerequest"}
        @close=${this.#a} @cancel=${this.#r} @keydown=${this.#o} @input=${this.typed} @click=${this.#l}>
        <div class="dialog-body">
          <div class="dialog-head">
            <h2 id="dialog-title" tabindex="-1">${n}</h2>
            ${r?d:a`
              <button class="plain" aria-label=${i.close} @click=${this.close}>${he("close")}</button>`}
          </div>
          ${this.content?.(this)}
          <div class="said" role="status" aria-live="polite">${this.#t?a`<p>${this.#t}</p>`:d}</div>
        </div>
      </dialog>`}};customElements.define("lk-dialog",Fe);function Qn(){let t=document.activeElement;for(;t?.shadowRoot?.activeElement;)t=t.shadowRoot.activeElement;return t}var j=()=>f.isEmbedded?"":location.hash.split("/")[5]??"",Zn=()=>[...f.home.querySelectorAll("lk-dialog")];function rn(t){for(let e of Zn())(!t||e.person===t)&&e.close()}var Xn=!1,es=[];function U(t,e,n){let s=new Fe;return s.options=e,s.content=n,s.person=t,t.api.hasEnded||f.home.appendChild(s),s}function R(t,e){let n=null,s=crypto.randomUUID(),r=Xt(e.keep);r&&e.pairs?.restore(r.fields);let o=U(t,{title:e.title},l=>a`
      <form @submit=${async c=>{if(c.preventDefault(),l.isBusy)return;l.isBusy=!0,n=null,l.requestUpdate();let u;try{u=await e.run(new FormData(c.target))}catch(m){let h=m instanceof I&&m.body.status===404;if(!(e.ends&&l.isUnsure&&h))return n=m,l.isUnsure||=!tn(m),l.isBusy=!1,l.requestUpdate()}l.close();try{await e.done?.(u)}catch(m){U(t,{title:i.doneNotRead},()=>A(m))}}}>
        <input type="hidden" name="once" .value=${s}>
        ${r?a`<p class="note">${r.isUnsure?i.signIn.filledUnsure:i.signIn.filled}
          ${r.isPart?i.signIn.notKept:d}</p>`:d}
        ${e.intro?a`<div class="intro">${e.intro}</div>`:d}
        ${e.fields?.(l)}
        ${n?A(n):d}
        <footer>
          <button type="button" @click=${()=>l.close()}>${i.cancel}</button>
          <button class=${e.danger?"danger":"primary"} ?disabled=${l.isBusy}>${l.isBusy?i.working:e.submit}</button>
        </footer>
      </form>`);return o.keep=e.keep??"",r&&(o.isTyped=!0,o.isUnsure=r.isUnsure,o.updateComplete.then(()=>Qt(o.querySelector("form"),r))),o}var q=class{constructor(e,n){this.host=e;this.read=n;this.items=[];this.ready=!1;this.busy=!1;this.error=null;this.#n=0}#e;#t;#n;get hasMore(){return this.#e!==void 0}load(){return this.#s(void 0)}more(){return this.busy?Promise.resolve():this.#s(this.#e)}async#s(e){let n=++this.#n;this.busy=!0,this.error=null,this.host.requestUpdate();try{let s=await this.read(e);if(n!==this.#n)return;this.items=e===void 0?s.items:[...this.items,...s.items],this.#e=s.nextCursor,this.ready=!0}catch(s){n===this.#n&&([this.error,this.#t]=[s,e])}n===this.#n&&(this.busy=!1,this.host.requestUpdate())}view(e,n,s=""){let r=this.error?A(this.error,()=>this.#s(this.#t)):d;return this.ready?a`
      ${this.items.length?e(this.items):n}
      ${r}
      ${!this.hasMore||this.error?d:s?a`<button class="more" ?disabled=${this.busy} @click=${()=>this.more()}>${this.busy?i.loading:s}</button>`:a`<lk-more .busy=${this.busy} @more=${()=>this.more()}></lk-more>`}`:this.error?r:F()}},F=()=>a`
  <div class="skeleton" role="status"><span class="sr">${i.loading}</span><i></i><i></i><i></i></div>`,ft=class extends S{constructor(){super(...arguments);this.busy=!1;this.#e=null}static{this.properties={busy:{attribute:!1}}}#e;createRenderRoot(){return this}connectedCallback(){super.connectedCallback(),this.#e=new IntersectionObserver(n=>{n.some(s=>s.isIntersecting)&&this.#t()})}disconnectedCallback(){super.disconnectedCallback(),this.#e?.disconnect()}updated(){this.#e?.unobserve(this),this.busy||this.#e?.observe(this)}#t(){this.busy||this.dispatchEvent(new CustomEvent("more"))}render(){return a`<button class="more" ?disabled=${this.busy} @click=${this.#t}>${this.busy?i.loading:i.more}</button>`}};customElements.define("lk-more",ft);var on=(t,e)=>a`
  <div class="field">
    <label for="f-${t.name}">${t.label}</label>
    ${e}
    ${t.help?a`<p class="help" id="h-${t.name}">${t.help}</p>`:d}
  </div>`,an=t=>t.help?`h-${t.name}`:d,W=t=>on(t,a`
  <input id="f-${t.name}" @input=${e=>t.typed?.(e.target.value)} name=${t.name} type=${t.type??"text"} .defaultValue=${t.value??""} ?required=${t.required}
    maxlength=${t.max??d} pattern=${t.pattern??d} placeholder=${t.placeholder??d}
    autocomplete="off" spellcheck="false" aria-describedby=${an(t)}
    @change=${e=>t.change?.(e.target.value)}>`),T=t=>on(t,a`
  <select id="f-${t.name}" name=${t.name} aria-describedby=${an(t)}
    @change=${e=>t.change?.(e.target.value)}>
    ${t.options.map(([e,n])=>a`<option value=${e} ?selected=${e===t.value}>${n}</option>`)}
  </select>`),yt=(t,e,n)=>a`
  <div class="check">
    <input type="checkbox" id="f-${t}" name=${t} aria-describedby="h-${t}">
    <div><label for="f-${t}">${e}</label><p class="help" id="h-${t}">${n}</p></div>
  </div>`,ln=["minute","hour","day","month"],bt=t=>a`
  <fieldset>
    <legend>${i.keys.limits}</legend>
    <div class="four">${ln.map(e=>a`
      <div class="field">
        <label for="f-limit-${e}">${i.keys.per(e)}</label>
        <input id="f-limit-${e}" name="limit-${e}" type="number" min="1" max="1000000000" inputmode="numeric"
          .defaultValue=${String(t.find(n=>n.per===e)?.requests??"")} aria-describedby="h-limits">
      </div>`)}
    </div>
    <p class="help" id="h-limits">${i.keys.limitsHelp}</p>
  </fieldset>`,vt=t=>ln.map(e=>({requests:Number(t.get(`limit-${e}`)),per:e})).filter(e=>e.requests>0),dn=(t,e)=>String(t.get(e)??"").split(/[\s,]+/).filter(Boolean),M=(t,e)=>String(t.get(e)??"").trim(),_e=class{#e;constructor(e){this.#e=Object.entries(e)}restore(e){let n=r=>e.filter(([o])=>o===r).map(([,o])=>o),s=n("pair-value");this.#e=n("pair-name").map((r,o)=>[r,s[o]??""])}value(){return Object.fromEntries(this.#e.filter(([e])=>e!==""))}view(e){let n=(o,l)=>p=>{o[l]=p.target.value},s=o=>{this.#e=this.#e.filter(l=>l!==o),e.typed()},r=async()=>{this.#e.push(["",""]),e.requestUpdate(),await e.updateComplete,e.querySelector(".pair:last-of-type input")?.focus()};return a`
      <fieldset>
        <legend>${i.keys.metadata}</legend>
        ${this.#e.map(o=>a`
          <div class="pair">
            <input name="pair-name" aria-label=${i.keys.metadataName} placeholder=${i.keys.metadataName} .value=${o[0]} @input=${n(o,0)}>
            <textarea name="pair-value" rows="1" aria-label=${i.keys.metadataValue} placeholder=${i.keys.metadataValue} .value=${o[1]}
              @input=${n(o,1)}></textarea>
            <button type="button" class="plain" aria-label=${i.remove} @click=${()=>s(o)}>${he("close")}</button>
          </div>`)}
        <button type="button" class="small-button" @click=${r}>${i.keys.metadataAdd}</button>
        <p class="help">${i.keys.metadataHelp}</p>
      </fieldset>`}};async function We(){let t=await Ae(new URL("catalogue.json",f.base),{credentials:"omit",redirect:"error",signal:AbortSignal.timeout(3e3)});return t instanceof I?null:t}function cn(t,e){let n=[...y,...e.events.map(s=>s.type)];return t==="*"||(t.endsWith(".*")?n.some(s=>s.startsWith(t.slice(0,-1))):n.includes(t))}var me=class{constructor(e,n,s,r){this.name=e;this.offered=n;this.chosen=s;this.isKnown=r;this.#e=s.filter(o=>!n.some(l=>l.name===o))}#e;of(e){return[...this.offered.map(n=>n.name).filter(n=>e.has(`${this.name}:${n}`)),...dn(e,this.name)]}view(e,n,s){let r=this.#e.filter(o=>!this.isKnown(o));return a`
      ${this.offered.length?a`<fieldset class="choices"><legend>${n.label}</legend>${this.offered.map(o=>a`
        <div class="check"><input type="checkbox" id="f-${this.name}:${o.name}" name="${this.name}:${o.name}" ?checked=${this.chosen.includes(o.name)}>
          <div><label for="f-${this.name}:${o.name}"><code>${b(o.name)}</code></label><p class="help">${C(o.description)}</p></div>
        </div>`)}</fieldset>`:d}
      ${W({...n,label:this.offered.length?i.catalogue.other:n.label,name:this.name,value:this.#e.join(" "),typed:o=>{this.#e=o.split(/[\s,]+/).filter(Boolean),e.requestUpdate()}})}
      ${r.length?a`<p class="note">${s}: ${b(r.join(", "))}</p>`:d}`}};var ie=100,ts=t=>t.parts.reduce((e,n)=>e+n.value,0);function Ve(t){let e=Math.max(1,...t.bars.map(l=>Math.max(ts(l),l.shade??0))),n=t.line&&t.line.value<=e*5?t.line:null,s=ie/(Math.max(e,n?.value??0)*1.05),r=t.bars[0]?.parts??[],o=[{label:t.unit,cell:l=>l.label},...r.map((l,p)=>({label:l.name,kind:"number",cell:c=>w(c.parts[p].value)})),...t.shadeName?[{label:t.shadeName,kind:"number",cell:l=>l.shade==null?i.none:w(l.shade)}]:[]];return a`
    <figure class="chart">
      <figcaption>${t.title}<span class="legend">
        ${r.map(l=>a`<span><i class=${l.tone}></i>${l.name}</span>`)}
        ${t.shadeName?a`<span><i class="shade"></i>${t.shadeName}</span>`:d}
        ${t.line?a`<span><i class="line"></i>${t.line.name}${n?"":` (${i.chart.above})`}</span>`:d}
      </span></figcaption>
      <div class="plot">
        <span class="scale">${w(Math.max(e,n?.value??0))}</span>
        <svg viewBox="0 0 ${t.bars.length} ${ie}" preserveAspectRatio="none" role="img" aria-label=${t.title}>
          ${t.bars.map((l,p)=>ss(l,p,s))}
          ${n?$`<line x1="0" x2=${t.bars.length} y1=${ie-n.value*s} y2=${ie-n.value*s}/>`:d}
        </svg>
      </div>
      <div class="ends"><span>${t.bars[0]?.label}</span><span>${t.bars.at(-1)?.label}</span></div>
      <details><summary>${i.chart.table}</summary>${H(t.title,o,[...t.bars].reverse())}</details>
    </figure>`}function pn(t,e,n){let s=[...e,n].sort((c,u)=>c.at-u.at),[r,o]=[s[0].at,s.at(-1).at],l=c=>o===r?0:(c-r)/(o-r)*100,p=s.map(c=>`${c.label} ${new Date(c.at).toISOString().slice(0,10)}`).join(", ");return a`
    <figure class="chart">
      <figcaption>${t}</figcaption>
      <svg class="life" role="img" aria-label="${t}: ${p}">
        <line x1="0%" x2="100%" y1="8" y2="8"/><line class="past" x1="0%" x2="${l(n.at)}%" y1="8" y2="8"/>
        ${s.map((c,u)=>$`
          <circle class=${c===n?"now":""} cx="${l(c.at)}%" cy="8" r="5"/>
          <text x="${l(c.at)}%" y=${u>0&&u<s.length-1?42:28} text-anchor=${l(c.at)<50?"start":"end"}>${c.label}</text>`)}
      </svg>
    </figure>`}function ns(t,e,n){return Array.from({length:Math.ceil(n/4)},(s,r)=>$`
    <line class="hatch" x1=${t+.12} x2=${t+.88} y1=${Math.min(e+n,e+r*4+4)} y2=${e+r*4}/>`)}function ss(t,e,n){let s=ie,r=[...t.parts.map(o=>`${o.name} ${w(o.value)}`),...t.shade==null?[]:[`≤ ${w(t.shade)}`]].join(", ");return $`<g><title>${t.label}: ${r}</title>
    <rect class="hit" x=${e} y="0" width="1" height=${ie}/>
    ${t.shade?$`<rect class="shade" x=${e+.12} y=${ie-t.shade*n} width="0.76" height=${t.shade*n}/>`:d}
    ${t.parts.filter(o=>o.value>0).map(o=>{let l=o.value*n;return s-=l,$`<rect class=${o.tone} x=${e+.12} y=${s} width="0.76" height=${l}/>${o.tone==="retried"?ns(e,s,l):d}`})}</g>`}var hn=t=>t.error??(t.status===null?i.none:`HTTP ${t.status}`),mn=t=>t.error===null&&t.status!==null&&t.status>=200&&t.status<300,is=t=>a`
  <li>
    ${D(hn(t),mn(t)?"good":"bad")} ${N(t.at)}
    <span class="faint">${i.deliveries.took(w(t.durationMs))}</span>
    ${t.body?a`<pre tabindex="0">${b(t.body)}</pre>`:d}
  </li>`,ue=t=>t.status==="pending"&&t.lastAttempt!==null&&!mn(t.lastAttempt);function Ye(t,e,n,s=null){let r=t.nextAttemptAt&&Math.max(t.nextAttemptAt,s??0);return a`
    <article class="delivery">
      <div class="delivery-head">
        <div>${D(t.status,ue(t)?"bad retried":void 0)} ${e}</div>
        ${n&&t.status!=="pending"?a`<button @click=${Ee(()=>n(t))}>${i.deliveries.again}</button>`:d}
      </div>
      <details>
        <summary class="small faint">
          ${i.deliveries.attempts(t.attempts)}${t.lastAttempt?`: ${hn(t.lastAttempt)}`:d}
          ${r?a` · ${i.deliveries.next} ${N(r)}${r>t.nextAttemptAt?` (${i.deliveries.paused})`:d}`:d}
          ${t.deliveredAt?a` · ${i.deliveries.at} ${N(t.deliveredAt)}`:d}
        </summary>
        ${t.lastAttempt?a`<ol class="attempts">${[t.lastAttempt,...t.earlierAttempts].map(is)}</ol>`:a`<p class="small faint">${i.deliveries.noAttempt}</p>`}
      </details>
    </article>`}var Je=t=>t.isAdmin?t.api.all(`${t.appPath}/webhook_endpoints`,"endpoints").catch(()=>[]):Promise.resolve([]),rs=(t,e)=>e.find(n=>n.id===t.endpointId)?.pausedUntil??null,$t=class extends L{#e=j();#t="";#n;#s=new q(this,e=>this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:this.#e,status:this.#t||void 0,order:"desc",limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#s.load(),Je(this).then(e=>{this.#n=e.find(n=>n.id===this.#e),this.requestUpdate()})}render(){let e=n=>Ge(this,n).then(()=>this.#s.load(),gt);return a`
      ${Y(i.deliveries.title,a`<code>${b(this.#n?.url??this.#e)}</code> <span class="faint">(${se()})</span>`,a`<button @click=${()=>this.#s.load()}>${i.refresh}</button>`)}
      <div class="filters">${T({label:i.status,name:"status",options:[["",i.deliveries.every],...os.map(n=>[n,n])],change:n=>{this.#t=n,this.#s.load()}})}</div>
      ${this.#s.view(n=>n.map(s=>Ye(s,a`
        <button class="link" @click=${()=>J(this,s.eventId)}><code>${b(s.eventType)}</code></button> ${N(s.createdAt)}`,e,this.#n?.pausedUntil)),a`<p class="note">${i.deliveries.noneLike}</p>`,i.events.older)}`}};customElements.define("lk-deliveries",$t);var os=["delivered","failed","pending","held"];async function Ge(t,e){await t.api.post(`${t.appPath}/webhook_deliveries/redeliver`,{endpointId:e.endpointId,eventId:e.eventId}),x(i.deliveries.queued(1))}function J(t,e){let n=null,s=null,r=[],o=!1,l=null,p=0,c=async()=>{try{let g=encodeURIComponent(e);n??=await t.api.get(`${t.appPath}/webhook_events/${g}`);let v=await t.api.list(`${t.appPath}/webhook_deliveries`,"deliveries",{eventId:e});v.items.some(O=>O.nextAttemptAt)&&(r=await Je(t)),s=v.items,o=v.nextCursor!==void 0,l=null}catch(g){l=g}m.requestUpdate();let h=s?.length===0||s?.some(g=>g.status==="pending"&&g.lastAttempt===null);!l&&h&&m.isConnected&&p++<8&&setTimeout(c,1500)},u=h=>Ge(t,h).then(()=>(p=0,c()),g=>{l=g,m.requestUpdate()}),m=U(t.person,{title:i.events.one,drawer:!0,at:`${t.org.id}/events/${t.appId}/${e}`},()=>a`
    ${l?A(l):d}
    ${n?a`
      ${pe([[i.events.type,E(n.type)],[i.id,E(n.id)],[i.events.at(se()),N(n.createdAt)]])}
      <h3>${i.events.payload}</h3>
      ${n.data===null?a`<p class="note">${i.events.hidden}</p>`:a`<pre class="payload" tabindex="0">${ze(n.data)}</pre>`}
      <h3>${i.deliveries.title}</h3>`:d}
    ${s?a`
      ${s.map(h=>Ye(h,C(h.endpointOrigin??h.endpointId),t.isAdmin?u:null,rs(h,r)))}
      ${s.length?d:a`<p class="note">${i.deliveries.none}</p>`}
      ${o?a`<p class="small faint">${i.deliveries.bounded}</p>`:d}
      <button @click=${()=>{p=0,c()}}>${i.refresh}</button>`:l?d:F()}`);return c(),m}var Qe=36e5,as=20,ls=5,Se=[24,6,2],wt=class extends L{#e=Promise.resolve(null);#t=new q(this,e=>this.api.list(`${this.appPath}/webhook_endpoints`,"endpoints",{limit:50,cursor:e}));connectedCallback(){super.connectedCallback(),this.#e=We(),this.#t.load().then(()=>{V(`${this.appPath}/webhook_endpoints`,()=>this.#s());for(let e of this.#t.items)e.id===j()&&this.#l(e)})}#n(e){return`${this.appPath}/webhook_endpoints/${encodeURIComponent(e.id)}`}async#s(){let e=await this.#e,n=new me("events",e?[{name:"*",description:i.catalogue.every},...e.events.map(s=>({...s,name:s.type}))]:[],["*"],s=>!e||cn(s,e));R(this.person,{title:i.endpoints.create,submit:i.create,intro:i.endpoints.createIntro,keep:`${this.appPath}/webhook_endpoints`,fields:s=>a`
        ${W({label:i.endpoints.url,name:"url",type:"url",required:!0,max:2048,placeholder:"https://example.com/hooks"})}
        ${n.view(s,{label:i.endpoints.events,help:i.endpoints.eventsHelp},i.catalogue.unsent)}
        ${W({label:i.endpoints.description,name:"description",max:200})}`,run:s=>this.api.create(`${this.appPath}/webhook_endpoints`,{url:M(s,"url"),events:n.of(s),description:M(s,"description")||null},s),done:()=>(x(i.endpoints.created),this.#t.load())})}async#i(e){try{let{eventId:n}=await this.api.post(`${this.#n(e)}/test`);J(this,n),x(i.endpoints.tested)}catch(n){U(this.person,{title:i.endpoints.test},()=>A(n))}}#r(e,n){R(this.person,{title:i.catalogue.example,submit:i.catalogue.example,intro:i.catalogue.exampleIntro,fields:()=>T({label:i.catalogue.type,name:"type",options:n.map(s=>[s.type,s.type])}),run:s=>this.api.create(`${this.#n(e)}/test`,{type:M(s,"type"),data:n.find(r=>r.type===M(s,"type"))?.example},s),done:({eventId:s})=>{J(this,s),x(i.endpoints.tested)}})}#o(e){let n=!e.enabled;R(this.person,{title:n?i.endpoints.enable:i.endpoints.disable,submit:n?i.endpoints.enable:i.endpoints.disable,danger:!n,intro:a`<p><code>${b(e.url)}</code></p><p>${n?i.endpoints.enableIntro:i.endpoints.disableIntro}</p>`,run:()=>this.api.patch(this.#n(e),{enabled:n}),done:()=>(x(i.saved),this.#t.load())})}#a(e){R(this.person,{title:i.endpoints.delete,submit:i.endpoints.delete,danger:!0,ends:!0,intro:a`<p><code>${b(e.url)}</code></p><p>${i.endpoints.deleteIntro}</p>`,run:()=>this.api.delete(this.#n(e)),done:()=>(x(i.endpoints.deleted),this.#t.load())})}#l(e){let n=null,s=[],r=null,o=0,l=!1,p=0,c=null,u=(k,_)=>this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:e.id,since:k,order:"desc",limit:100,cursor:_}),m=async()=>{let k=re=>(Math.floor(Date.now()/Qe)+1-re)*Qe,_=await u(k(Se[0])),ye=_.items;for(let re=1;re<ls&&_.nextCursor;re++)_=await u(k(Se[0]),_.nextCursor),ye.push(..._.items);let An=_.nextCursor?ye.at(-1)?.createdAt??1/0:0,Tt=Se.find(re=>k(re)>An);return l=Tt===void 0,o=Tt??Se[Se.length-1],p=k(o),ye},h=async()=>{try{n=await this.api.get(this.#n(e)),r=await m(),c=null}catch(k){c=k}O.requestUpdate()},g=k=>Ge(this,k).then(async()=>{for(let _=0;_<5&&O.isConnected;_++)await h(),await new Promise(ye=>setTimeout(ye,1500))},_=>{c=_,O.requestUpdate()}),v=k=>()=>{O.close(),k.call(this,e)},O=U(this.person,{title:i.endpoints.one,drawer:!0,at:`${this.org.id}/endpoints/${this.appId}/${e.id}`},()=>a`
      <p class="intro"><code class="wrap">${b(e.url)}</code></p>
      <div class="row">
        <button @click=${v(this.#i)}>${i.endpoints.test}</button>
        ${s.length?a`<button @click=${v(()=>this.#r(e,s))}>${i.catalogue.example}</button>`:d}
        <button @click=${v(this.#o)}>${e.enabled?i.endpoints.disable:i.endpoints.enable}</button>
        <button class="danger-text" @click=${v(this.#a)}>${i.endpoints.delete}</button>
      </div>
      ${c?A(c):d}
      ${r?ds(r,p,o):c?d:F()}
      ${l?a`<p class="small faint">${i.endpoints.bounded}</p>`:d}
      ${pe([[i.status,this.#d(n??e)],...n?.pausedUntil&&n.pausedUntil>Date.now()?[[i.endpoints.paused,P(n.pausedUntil)]]:[],...n?[[i.endpoints.held,w(n.heldCount??0)]]:[],[i.endpoints.events,a`<span class="chips">${e.events.map(E)}</span>`],[i.endpoints.description,e.description?C(e.description):i.none],[i.id,E(e.id)],[i.created,P(e.createdAt)],[i.endpoints.createdBy,e.createdByKey?E(e.createdByKey):i.endpoints.admin],...e.urlSetByKey?[[i.endpoints.setBy,E(e.urlSetByKey)]]:[]])}
      <h3>${i.endpoints.last} <span class="faint">(${se()})</span></h3>
      ${r?.slice(0,as).map(k=>Ye(k,a`
        <button class="link" @click=${()=>J(this,k.eventId)}><code>${b(k.eventType)}</code></button>
        ${N(k.createdAt)}`,g,n?.pausedUntil))}
      ${r?.length&&!f.isEmbedded?a`
        <p><a href="#/orgs/${this.org.id}/deliveries/${this.appId}/${e.id}">${i.deliveries.all}</a></p>`:d}
      ${r?.length===0?a`<p class="note">${i.endpoints.quiet(o)}</p>`:d}`);h(),this.#e.then(k=>{s=(k?.events??[]).filter(_=>_.example),O.requestUpdate()})}#d(e){return e.enabled&&e.failingSince?a`${D(i.endpoints.failing,"bad")}<div class="sub">${i.endpoints.since} ${P(e.failingSince)}</div>`:e.enabled?D(i.endpoints.enabled,"good"):a`${D(i.endpoints.disabled,"bad")}
      <div class="sub">${i.endpoints.reasons[e.disabledReason??""]??e.disabledReason}, ${P(e.disabledAt)}</div>`}render(){let e=a`<button class="primary" @click=${this.#s}>${i.endpoints.create}</button>`;return a`
      ${Y(i.endpoints.title,i.endpoints.about,this.#t.items.length?e:d)}
      ${this.#t.view(n=>H(i.endpoints.title,[{label:i.endpoints.url,kind:"main",cell:s=>a`
          <button class="link" @click=${()=>this.#l(s)}><span class="url">${b(s.url)}</span></button>
          ${s.description?a`<div class="sub">${C(s.description)}</div>`:d}`},{label:i.endpoints.events,cell:s=>a`<span class="chips">${s.events.slice(0,3).map(E)}${s.events.length>3?a`<span class="faint">+${s.events.length-3}</span>`:d}</span>`},{label:i.status,cell:s=>this.#d(s)},{label:i.created,cell:s=>P(s.createdAt)},{label:i.actions,kind:"actions",cell:s=>a`
          <button ?disabled=${!s.enabled} @click=${Ee(()=>this.#i(s))}>${i.endpoints.testShort}</button>
          <button @click=${()=>this.#o(s)}>${s.enabled?i.endpoints.disableShort:i.endpoints.enableShort}</button>`}],n),K(i.endpoints.none,i.endpoints.noneAbout,e))}`}};customElements.define("lk-endpoints",wt);function ds(t,e,n){let s=Array.from({length:n},(r,o)=>{let l=e+o*Qe,p=t.filter(g=>g.createdAt>=l&&g.createdAt<l+Qe),c=(...g)=>p.filter(v=>g.includes(v.status)).length,[u,m,h]=[c("delivered"),c("failed"),p.filter(ue).length];return{label:new Date(l).toLocaleTimeString("en-GB",{hour:"2-digit",minute:"2-digit"}),parts:[{name:i.deliveries.delivered,tone:"good",value:u},{name:i.deliveries.failed,tone:"bad",value:m},{name:i.deliveries.retried,tone:"retried",value:h},{name:i.deliveries.waiting,tone:"wait",value:p.length-u-m-h}]}});return Ve({title:i.endpoints.hours(n),bars:s,unit:i.endpoints.hour})}var un=100,cs=2e3,ge=36e5,gn=[[`${ge}`,i.events.hour],[`${24*ge}`,i.events.day],[`${168*ge}`,i.events.week],[`${720*ge}`,i.events.month]],kt=class extends L{#e=`${24*ge}`;#t=0;#n="";#s=new q(this,e=>this.api.list(`${this.appPath}/webhook_events`,"events",{since:this.#t,order:"desc",limit:un,cursor:e}).then(n=>(this.#o(n.items),n)));#i=new Map;connectedCallback(){super.connectedCallback(),this.#r(),j()&&J(this,j()),V(`${this.appPath}/webhook_deliveries/redeliver`,()=>{this.#l()})}#r(){this.#t=Date.now()-Number(this.#e),this.#s.load()}async#o(e){let n=e.at(-1);if(n){for(let{id:s}of await Je(this)){let r;do{let o=await this.api.list(`${this.appPath}/webhook_deliveries`,"deliveries",{endpointId:s,since:n.createdAt,order:"desc",limit:un,cursor:r}).catch(()=>({items:[],nextCursor:void 0}));for(let l of o.items)this.#i.set(l.eventId,[...(this.#i.get(l.eventId)??[]).filter(p=>p.endpointId!==s),l]);r=o.nextCursor}while(r&&this.isConnected&&this.#i.size<cs)}this.requestUpdate()}}#a(e){let n=this.#i.get(e.id)??[],s=(o,l,p)=>p.length?a`${D(`${p.length} ${o}`,l)} `:d,r=o=>o.status!=="delivered"&&o.status!=="failed";return n.length===0?de:a`
      ${s(i.deliveries.delivered,"good",n.filter(o=>o.status==="delivered"))}
      ${s(i.deliveries.failed,"bad",n.filter(o=>o.status==="failed"))}
      ${s(i.deliveries.retried,"bad retried",n.filter(ue))}
      ${s(i.deliveries.waiting,"wait",n.filter(o=>r(o)&&!ue(o)))}`}async#l(){let e;try{e=await this.api.all(`${this.appPath}/webhook_endpoints`,"endpoints")}catch(r){return void U(this.person,{title:i.deliveries.allAgain},()=>A(r))}if(e.length===0)return x(`${i.endpoints.none}.`);let n="",s=R(this.person,{keep:`${this.appPath}/webhook_deliveries/redeliver`,title:i.deliveries.allAgain,submit:i.deliveries.again,intro:i.deliveries.allIntro,fields:()=>a`
        ${T({label:i.endpoints.url,name:"endpointId",options:e.map(r=>[r.id,b(r.url)])})}
        ${T({label:i.events.since,name:"since",options:gn,value:`${24*ge}`})}
        <input type="hidden" name="far" .value=${n}>`,run:async r=>{let[o,l]=[M(r,"endpointId"),M(r,"since")],p={endpointId:o,span:l,since:Date.now()-Number(l),queued:0},c=JSON.parse(M(r,"far")||"null");c?.endpointId===o&&c.span===l&&(p=c);do{let{since:u,cursor:m}=p,h=await this.api.post(`${this.appPath}/webhook_deliveries/redeliver`,{endpointId:o,since:u,status:"failed",cursor:m});p={...p,queued:p.queued+h.queued,cursor:h.nextCursor},n=JSON.stringify(p),s.requestUpdate()}while(p.cursor);return p.queued},done:r=>x(i.deliveries.queued(r))})}render(){let e=this.#n?[this.#n]:[],n=[...new Set([...this.#s.items.map(o=>o.type),...e])].sort(),s=o=>o.filter(l=>!this.#n||l.type===this.#n),r=this.#s.hasMore?a`<p class="note">${i.events.noneYet}</p>`:K(i.events.none,i.events.noneAbout,this.isAdmin&&!f.isEmbedded?a`<a class="button" href="#/orgs/${this.org.id}/endpoints/${this.appId}">${i.endpoints.title}</a>`:d);return a`
      ${Y(i.events.title,i.events.about,a`
        <button @click=${this.#r}>${i.refresh}</button>
        ${this.isAdmin?a`<button @click=${this.#l}>${i.deliveries.allAgain}</button>`:d}`)}
      <div class="filters">
        ${T({label:i.events.since,name:"span",options:gn,value:this.#e,change:o=>{this.#e=o,this.#r()}})}
        ${T({label:i.events.type,name:"type",value:this.#n,options:[["",i.events.every],...n.map(o=>[o,o])],change:o=>{this.#n=o,this.requestUpdate()}})}
      </div>
      ${this.#s.view(o=>s(o).length===0?r:H(i.events.title,[{label:i.events.type,kind:"main",cell:l=>a`
          <button class="link" @click=${()=>J(this,l.id)}><code>${b(l.type)}</code></button>`},{label:i.events.at(se()),cell:l=>N(l.createdAt)},...this.isAdmin?[{label:i.deliveries.title,cell:l=>this.#a(l)}]:[],{label:i.id,cell:l=>E(l.id)}],s(o)),r,i.events.older)}`}};customElements.define("lk-events",kt);var ps=30,hs=864e5,Ze=t=>new Date(t).toISOString().slice(0,10);function yn(t){let e=[...t.limits,...t.ceilings].filter(n=>n.per==="day").map(n=>n.requests);return e.length?Math.min(...e):null}async function ms(t){if(!t.isAdmin)return i.usage.together;let{allowance:e}=await t.api.get(t.path);if(!e?.length)return"";let n=(await t.api.all(`${t.path}/usage`,"usage")).filter(s=>!s.keyId);return i.usage.ofOrg(ce(e),fn(n.filter(s=>s.date===Ze(Date.now()))),fn(n))}function fn(t){let e=t.reduce((s,r)=>s+r.requests,0),n=t.reduce((s,r)=>s+(r.atMost??1/0),0);return n===1/0?i.usage.atLeast(w(e)):e===n?w(e):i.usage.from(w(e),w(n))}function bn(t,e,n){let s=null,r="",o=null,l=!1;return p=>{if(l||(l=!0,Promise.all([t.api.get(`${t.path}/keys/${encodeURIComponent(e.id)}/usage`),ms(t)]).then(([h,g])=>{[s,r]=[h.days,g]},h=>{o=h}).finally(()=>p.requestUpdate())),o)return A(o);if(!s)return F();let c=r?a`<p class="note">${r}</p>`:d,u=s.filter(h=>h.refused),m=s.some(h=>h.atMost!==null||h.requests>0);return a`
      ${m?Ve({title:i.usage.title,bars:us(s,ps),unit:i.usage.day,shadeName:i.usage.atMost,line:n===null?void 0:{value:n,name:i.usage.limit(w(n))}}):a`<p class="note">${r?i.usage.asWhole:i.usage.none}</p>`}
      ${c}
      ${u.length?a`<h3>${i.usage.refused}</h3>${H(i.usage.refused,[{label:i.usage.day,cell:h=>h.date},{label:i.usage.why,cell:h=>Object.entries(h.refused).map(([g,v])=>a`<div>${w(v)} <code>${g}</code></div>`)}],u.reverse())}<p class="help">${i.usage.refusedAbout}</p>`:d}`}}function us(t,e){return Array.from({length:e},(n,s)=>{let r=Ze(Date.now()-(e-1-s)*hs),o=t.filter(p=>p.date===r),l=o.some(p=>p.atMost===null)?null:o.reduce((p,c)=>p+c.atMost,0);return{label:r,shade:l,parts:[{name:i.usage.requests,tone:"accent",value:o.reduce((p,c)=>p+c.requests,0)}]}})}var gs=7*864e5,G=86400,fs=[["0",i.keys.graceNone],["3600",i.keys.hours(1)],[`${G}`,i.keys.hours(24)],[`${3*G}`,i.keys.days(3)],[`${7*G}`,i.keys.days(7)]];function fe(){let t=f.maxKeyDays||1/0,e=[1,7,30,90,365].filter(n=>n<t);return(t<1/0?[...e,t]:e).map(n=>[`${n*G}`,i.keys.days(n)])}var xt=()=>f.maxKeyDays?`${f.maxKeyDays*G}`:"";function ys(t){if(!t.expiresAt)return f.maxKeyDays?fe():[["",i.keys.neverAsBefore],...fe()];let e=Math.round((t.expiresAt-t.createdAt)/1e3);return!f.maxKeyDays||e<=f.maxKeyDays*G?[[`${e}`,i.keys.asBefore],...fe().filter(([s])=>s!==`${e}`)]:fe()}var Xe=t=>!t.revokedAt&&!(t.expiresAt&&t.expiresAt<=Date.now());var vn={label:i.keys.scopes,help:i.keys.scopesHelp,placeholder:"invoices:read"},$n=(t,e)=>new me("scopes",t?.scopes??[],e,n=>!t||t.scopes.some(s=>s.name===n)),bs=90*G*1e3,vs=t=>Xe(t)&&(t.lastUsedAt??t.createdAt)<Date.now()-bs,At=class extends L{#e=new q(this,async()=>({items:await this.api.all(`${this.path}/keys`,"keys")}));#t=new Map;#n=Promise.resolve(null);#s=[];#i=!1;connectedCallback(){super.connectedCallback(),this.#n=We(),this.api.all(`${this.path}/members`,"members").then(e=>{this.#t=new Map(e.map(n=>[n.userId,n])),this.requestUpdate()},()=>{}),this.#e.load().then(()=>{V(`${this.path}/keys`,()=>this.#m());for(let e of this.#e.items)e.id===j()&&this.#y(e),V(this.#r(e),()=>this.#f(e)),V(`${this.#r(e)}/rotate`,()=>this.#p(e))})}#r(e){return`${this.path}/keys/${e.id}`}#o(e){return e.revokedAt?"revoked":e.expiresAt&&e.expiresAt<=Date.now()?"expired":e.rotatedTo?"replaced":"active"}#a(e){let n=e.createdBy&&this.#t.get(e.createdBy);return n?C(n.email||n.name):e.createdBy?E(e.createdBy):i.keys.byService}#l(e){let n=[e.name,e.id,e.keyPrefix,this.person.appName(this.org,e.appId),...e.scopes].join(" ").toLowerCase();return this.#s.every(s=>n.includes(s))&&(!this.#i||vs(e))}#d(e){return this.#o(e)==="active"}async#c(e,n){let s;try{[s]=await Promise.all([this.#n,f.readSettings()])}catch(r){return void U(this.person,{title:e},()=>A(r))}n(s)}#m=()=>this.#c(i.keys.create,e=>{let[n,s]=[new _e({}),$n(e,[])];R(this.person,{title:i.keys.create,submit:i.keys.create,keep:`${this.path}/keys`,pairs:n,fields:r=>a`
        ${W({label:i.name,name:"name",max:100,help:i.keys.nameHelp})}
        <div class="two">
          ${T({label:i.app,name:"appId",options:(this.person.apps.get(this.org.id)??[]).map(o=>[o.id,o.name])})}
          ${T({label:i.keys.expires,name:"expiresIn",value:xt(),options:xt()?fe():[["",i.keys.never],...fe()]})}
        </div>
        ${s.view(r,vn,i.catalogue.strange)}${n.view(r)}${bt([])}`,run:r=>this.api.create(`${this.path}/keys`,{name:M(r,"name")||null,appId:M(r,"appId")||null,expiresIn:Number(r.get("expiresIn"))||null,scopes:s.of(r),metadata:n.value(),limits:vt(r)},r),done:r=>this.#u(r)})});#u(e){let n=e.key;return U(this.person,{title:i.keys.shownTitle,secret:!0},s=>a`
      <p class="intro">${i.keys.shownIntro}</p>
      <div class="secret"><code id="new-key">${n}</code></div>
      <div class="row">${je(n,i.keys.copyKey,"primary first")}</div>
      <h3>${i.keys.try}</h3>
      ${ut(ht("app/get",n))}
      <footer><button @click=${()=>s.close()}>${i.keys.shownDone}</button></footer>`),this.#e.load()}#p=e=>this.#c(i.keys.rotateTitle,()=>{let n=ys(e);R(this.person,{title:i.keys.rotateTitle,submit:i.keys.rotate,intro:a`<p>${this.#h(e)}</p><p>${i.keys.rotateIntro}</p>`,keep:`${this.#r(e)}/rotate`,fields:()=>a`<div class="two">
        ${T({label:i.keys.grace,name:"grace",options:fs,value:`${G}`,help:i.keys.graceHelp})}
        ${T({label:i.keys.newExpires,name:"expiresIn",options:n,value:e.expiresAt&&n[0][1]===i.keys.asBefore?n[0][0]:xt()})}</div>`,run:s=>this.api.create(`${this.#r(e)}/rotate`,{graceSeconds:Number(s.get("grace")),expiresIn:Number(s.get("expiresIn"))||null},s),done:s=>this.#u(s)})});#g(e){let n=Ze(Date.now()),s=d,r=R(this.person,{title:i.keys.revokeTitle,submit:i.keys.revoke,danger:!0,intro:a`<p>${this.#h(e)}</p><p>${i.keys.revokeIntro}</p>`,fields:()=>a`
        <p class="note">${i.keys.lastUsed}: ${Ke(e.lastUsedAt,i.keys.neverUsed)}${s}</p>
        ${yt("endpoints",i.keys.alsoEndpoints,i.keys.alsoEndpointsHelp)}
        ${yt("links",i.keys.alsoLinks,i.keys.alsoLinksHelp)}`,run:async o=>{let l=o.has("endpoints"),p=o.has("links");return await this.api.delete(this.#r(e),{endpoints:l?"disable":void 0,links:p?"revoke":void 0}),i.keys.revoked(l,p)},done:o=>(x(o),this.#e.load())});this.api.get(`${this.#r(e)}/usage`,{from:n,to:n}).then(({days:[o]})=>{o&&(s=`; ${i.keys.today(w(o.requests))}`),r.requestUpdate()},()=>{})}#f=e=>this.#c(i.keys.edit,n=>{let[s,r]=[new _e(e.metadata),$n(n,e.scopes)];R(this.person,{title:i.keys.edit,submit:i.save,keep:this.#r(e),pairs:s,fields:o=>a`
        ${W({label:i.name,name:"name",value:e.name,max:100,required:e.name!==""})}
        ${r.view(o,vn,i.catalogue.strange)}${s.view(o)}${bt(e.limits)}
        ${e.ceilings.length?a`
          <p class="note">${i.keys.ceilings}: ${ce(e.ceilings)}. ${i.keys.ceilingsHelp}</p>`:d}`,run:o=>this.api.patch(this.#r(e),{name:M(o,"name")||null,scopes:r.of(o),metadata:s.value(),limits:vt(o)}),done:()=>(x(i.saved),this.#e.load())})});#y(e){let n=bn(this,e,yn(e)),s=(r,o)=>()=>{r.close(),o.call(this,e)};U(this.person,{title:i.keys.details,drawer:!0,at:`${this.org.id}/keys//${e.id}`},r=>a`
      <p class="intro">${this.#h(e)} ${this.#v(e)}</p>
      ${e.leakedAt?a`<p class="note alarm">${i.keys.leakedAt} ${P(e.leakedAt)}</p>`:d}
      ${this.isAdmin&&Xe(e)?a`<div class="row">
        <button @click=${s(r,this.#f)}>${i.edit}</button>
        ${this.#d(e)?a`<button @click=${s(r,this.#p)}>${i.keys.rotate}</button>`:d}
        <button class="danger-text" @click=${s(r,this.#g)}>${i.keys.revoke}</button></div>`:d}
      ${n(r)}
      ${pn(i.usage.life,[{label:i.created,at:e.createdAt},...e.expiresAt?[{label:e.rotatedTo?i.keys.ends:i.keys.expires,at:e.expiresAt}]:[],...e.revokedAt?[{label:i.keys.revokedAt,at:e.revokedAt}]:[]],{label:i.usage.now,at:Date.now()})}
      ${pe([[i.id,E(e.id)],...e.locator?[[i.keys.locator,a`${E(e.locator)} ${je(e.locator,i.keys.copyLocator)}`]]:[],[i.app,C(this.person.appName(this.org,e.appId))],[i.created,a`${P(e.createdAt)} ${i.keys.by} ${this.#a(e)}`],[i.keys.lastUsed,Ke(e.lastUsedAt,i.keys.neverUsed)],[i.keys.expires,P(e.expiresAt,i.keys.never)],...e.revokedAt?[[i.keys.revokedAt,P(e.revokedAt)]]:[],...e.rotatedTo?[[i.keys.rotatedTo,E(e.rotatedTo)]]:[],[i.keys.scopes,this.#b(e)],[i.keys.limits,ce(e.limits)||i.none],[i.keys.ceilings,e.ceilings.length?a`${ce(e.ceilings)} <span class="faint">${i.keys.ceilingsHelp}</span>`:i.none],[i.keys.metadata,Object.keys(e.metadata).length?a`<pre tabindex="0">${ze(e.metadata)}</pre>`:i.none]])}`)}#h(e){return a`<strong>${e.name?C(e.name):i.keys.unnamed}</strong> <code>${e.keyPrefix}…</code>`}#b(e){return e.scopes.length?a`<span class="chips">${e.scopes.map(n=>a`<code>${n}</code>`)}</span>`:de}#v(e){let n=this.#o(e),s=Xe(e)&&e.expiresAt&&e.expiresAt-Date.now()<=gs;return a`${D(n)}${e.leakedAt?a` ${D(i.keys.leaked,"bad")}`:d}${s?a`<lk-left class="sub" .until=${e.expiresAt}></lk-left>`:d}`}render(){let e=this.isAdmin?a`<button class="primary" @click=${this.#m}>${i.keys.create}</button>`:d,n=a`<div class="filters">
      ${W({label:i.keys.search,name:"search",type:"search",typed:r=>{this.#s=r.toLowerCase().split(/\s+/),this.requestUpdate()}})}
      ${T({label:i.keys.use,name:"use",options:[["",i.keys.anyUse],["90",i.keys.unused]],change:r=>{this.#i=r!=="",this.requestUpdate()}})}</div>`,s=this.#e.items.filter(r=>this.#l(r));return a`
      ${Y(i.keys.title,i.keys.about,this.#e.items.length?e:d)}
      ${this.#e.view(()=>a`${n}${s.length?d:a`<p class="note">${i.keys.noneShown}</p>`}${H(i.keys.title,[{label:i.keys.key,kind:"main",cell:r=>a`
          <button class="link" @click=${()=>this.#y(r)}>${r.name?C(r.name):i.keys.unnamed}</button>
          <div class="sub"><code>${r.keyPrefix}…</code> · ${C(this.person.appName(this.org,r.appId))}</div>
          <div class="sub">${i.created} ${P(r.createdAt)} ${i.keys.by} ${this.#a(r)}</div>`},{label:i.keys.scopes,cell:r=>this.#b(r)},{label:i.keys.lastUsed,cell:r=>Ke(r.lastUsedAt,i.keys.neverUsed)},{label:i.keys.expires,cell:r=>P(r.expiresAt,i.keys.never)},{label:i.status,cell:r=>this.#v(r)},{label:i.actions,kind:"actions",cell:r=>this.isAdmin&&Xe(r)?a`
          ${this.#d(r)?a`<button @click=${()=>this.#p(r)}>${i.keys.rotate}</button>`:d}
          <button class="danger-text" @click=${()=>this.#g(r)}>${i.keys.revoke}</button>`:d}],s)}`,K(i.keys.none,this.isAdmin?i.keys.noneAbout:i.keys.noneMember,e,this.isAdmin?ht("app/get"):""))}`}};customElements.define("lk-keys",At);var xn=[Pe(Jt),nt`
  :host { display: block; margin-block: 1.5rem; color-scheme: inherit; color: var(--text) }
  .pages { padding: 0 }
  .pages > * + * { margin-top: 2rem }`],Et=class{constructor(e,n){this.give=e;this.other=n;this.startedAt=0;this.again=!1}#e;#t;async#n(e){let n=this.give,s=await n(e);if(n!==this.give)return this.#n(e);let r=wn(s);if(this.#t??=r,r===this.#t)return s;throw this.other(),new Error(i.problem.ended)}async isStill(e){this.give=e,this.#e=void 0;let n=this.#t;return!!n&&n===wn(await e({}))}async token(){let e=this.#e??this.#n({});return this.#e=void 0,e}async renew(){return this.#e=await this.#n({fresh:!0}),!0}async signIn(e){this.#e=await this.#n({fresh:!0,maxAge:e})}};function wn(t){try{let e=atob(t.split(".")[1].replaceAll("-","+").replaceAll("_","/")),{iss:n,sub:s}=JSON.parse(e);return JSON.stringify([n,s])}catch{return""}}var kn;f.readSettings=async()=>{let t=await(kn??=Ae(new URL("console/config.json",f.base),{credentials:"omit"}));if(t instanceof I)throw kn=void 0,t;f.maxKeyDays=t.maxKeyDays};var et=class extends S{constructor(){super(...arguments);this.org="";this.app="";this.#s=!1;this.#i=null}static{this.styles=xn}static{this.properties={org:{},app:{},token:{attribute:!1}}}#e;#t;#n;#s;#i;willUpdate(n){!n.has("token")&&!n.has("org")||(!this.token||!this.org?this.#o():this.#r(this.token,n.has("org")))}async#r(n,s){let r=this.#e;!(r&&!s&&!this.#i&&await r.isStill(n).catch(()=>!1))&&r===this.#e&&n===this.token&&this.#a()}#o(){this.#t&&(this.#t.api.end(),rn(this.#t)),this.#e=this.#t=void 0,this.#s=!1,this.#i=null}async#a(){this.#o();let n=this.#e=new Et(this.token,()=>{n===this.#e&&this.#a()}),s=this.#t=new qe(new Be(n),()=>this.requestUpdate());this.requestUpdate();try{f.readSettings().catch(()=>{}),await s.reload();let r=s.orgs.find(o=>o.id===this.org);if(r&&r.role!=="viewer"&&await s.reloadApps(r),s!==this.#t)return;this.#n=r,this.#s=!0}catch(r){s===this.#t&&(this.#i=r)}this.requestUpdate()}render(){if(this.#i)return A(this.#i,()=>{this.#a()});let n=this.#t;if(!this.#s||!n)return F();let s=this.#n;if(!s)return K(i.nav.noOrg,i.nav.noOrgAbout);if(s.role==="viewer")return K(i.nav.noPage,i.nav.noPageAbout);let r=n.apps.get(s.id)??[],o=nn(r,this.app);return a`
      <div class="pages">
        ${this.ofApp&&!this.getAttribute("app")?sn(r,o,l=>{this.app=l}):d}
        ${Yt(`${s.id}/${o?.id}`,this.pages(n,s,o?.id??""))}
      </div>`}get ofApp(){return!1}},_t=class extends et{pages(e,n){return a`<lk-keys .person=${e} .org=${n}></lk-keys>`}};customElements.define("latchkey-keys",_t);var St=class extends et{get ofApp(){return!0}pages(e,n,s){return a`
      ${n.role==="admin"?a`<lk-endpoints .person=${e} .org=${n} .appId=${s}></lk-endpoints>`:d}
      <lk-events .person=${e} .org=${n} .appId=${s}></lk-events>`}};customElements.define("latchkey-webhooks",St);function $s(){let t=document.createElement("div"),e=t.attachShadow({mode:"open"});Ce(e,xn);let n=document.createElement("div");n.className="said",n.role="status",e.append(n);let s=0;return window.addEventListener("lk-announce",r=>{let o=document.createElement("p");o.textContent=r.detail,n.replaceChildren(o),clearTimeout(s),s=window.setTimeout(()=>n.replaceChildren(),5e3)}),document.body.append(t),e}f.isEmbedded=!0;f.base=new URL("../..",import.meta.url);f.home=$s();
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
