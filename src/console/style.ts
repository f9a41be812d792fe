/** The console's only stylesheet. */
export const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--panel:#f5f6f8;--line:#d5d9e0;--text:#1b1f27;--dim:#535b69;--link:#0b57b8;--on:#fff;--good:#136c34;--bad:#b3211b;--wait:#8a4b00;--bar:#3877c9;--bar2:#7a5bb5;--bar3:#2f8a57}
@media (prefers-color-scheme:dark){:root{--bg:#12151b;--panel:#1b2029;--line:#343b48;--text:#e6e9ef;--dim:#a5aebd;--link:#82b4ff;--on:#0c1017;--good:#6bd08d;--bad:#ff928a;--wait:#f0b35c;--bar:#5d97e0;--bar2:#a98be0;--bar3:#54b57f}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:.5rem;top:.5rem;background:var(--bg);padding:.5rem;z-index:2}
header{background:var(--panel);border-bottom:1px solid var(--line);padding:.5rem 1rem;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;align-items:center}
header strong{font-size:1.05rem}header nav ul{display:flex;flex-wrap:wrap;gap:.1rem .35rem;list-style:none;margin:0;padding:0}
header nav a{display:inline-block;padding:.3rem .5rem;border-radius:.35rem;text-decoration:none;color:var(--text)}
header nav a:hover{text-decoration:underline}header nav a[aria-current]{background:var(--link);color:var(--on)}
header .who{margin-left:auto;color:var(--dim);display:flex;gap:.6rem;align-items:center}
main{max-width:84rem;margin:0 auto;padding:1rem}
h1{font-size:1.45rem;margin:.3rem 0 .6rem}h2{font-size:1.12rem;margin:1.6rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}
.dim,small{color:var(--dim)}.good{color:var(--good)}.bad{color:var(--bad)}.wait{color:var(--wait)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .8rem .4rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600;white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td code{overflow-wrap:normal}
code,pre,textarea.code{font:13px/1.45 ui-monospace,monospace}
pre{background:var(--panel);border:1px solid var(--line);border-radius:.35rem;padding:.6rem .8rem;margin:.4rem 0;overflow:auto;max-height:30rem;white-space:pre-wrap}
.state{display:inline-block;border:1px solid currentColor;border-radius:1rem;padding:0 .55rem;font-size:.85rem;white-space:nowrap}
form.row{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;margin:.5rem 0}
form.inline{display:inline}
label{display:block;font-weight:600;margin:.5rem 0 .15rem}form.row label{margin:0}form.row>*{min-width:0;max-width:100%}
input,select,textarea,button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--dim);border-radius:.35rem;padding:.35rem .6rem;max-width:100%}
input:not([type=checkbox]),select{min-height:2.2rem}
textarea{width:100%;min-height:6rem}
input[type=checkbox]{padding:0;width:1.5rem;height:1.5rem;vertical-align:middle}fieldset{border:1px solid var(--line)}fieldset label{display:inline-block;margin-right:.8rem}
button{cursor:pointer;background:var(--panel)}button.main{background:var(--link);border-color:var(--link);color:var(--on)}button.danger{color:var(--bad);border-color:var(--bad)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}dt{color:var(--dim)}dd{margin:0;min-width:0}
.note{border-left:4px solid var(--link);background:var(--panel);padding:.5rem .8rem;margin:.7rem 0}.note.bad{border-color:var(--bad);color:inherit}.note.wait{border-color:var(--wait);color:inherit}
.card{border:1px solid var(--line);border-radius:.5rem;padding:.7rem .9rem;margin:.7rem 0}
.say{border-left:3px solid var(--line);padding:.1rem .8rem;margin:.7rem 0}.say.user{border-color:var(--bar)}.say.assistant{border-color:var(--bar3)}.say.tool{border-color:var(--bar2)}
.say p,.out{white-space:pre-wrap;margin:.2rem 0}
summary:has(.lane){list-style:none}.lane>span:first-child::before{content:"▸ "}details[open]>summary>.lane>span:first-child::before{content:"▾ "}
.flow{list-style:none;margin:0;padding:0}.flow>li{border-bottom:1px solid var(--line);padding:.35rem 0}
.lane{display:grid;grid-template-columns:minmax(9rem,1fr) minmax(6rem,2fr) 5rem;gap:.6rem;align-items:center}
.lane svg{width:100%;height:14px;display:block;background:var(--panel)}.lane .n{text-align:right;font-variant-numeric:tabular-nums}
.model{fill:var(--bar)}.tool{fill:var(--bar2)}.other{fill:var(--bar3)}.fail{fill:var(--bad)}.track{fill:var(--panel)}
.graph{display:block;font-size:13px}.graph text{fill:var(--text)}.graph .more,.graph .branch{fill:var(--dim);font-size:11px}.graph rect{fill:var(--panel);stroke:var(--dim)}.graph .edge{fill:none;stroke:var(--dim)}.graph .taken{stroke:var(--bar);stroke-width:2.5}.graph marker path{fill:var(--dim)}
.graph .done rect{stroke:var(--good);stroke-width:2}.graph .failed rect{stroke:var(--bad);stroke-width:2}.graph .runs rect{stroke:var(--bar);stroke-width:3}.graph .waits rect{stroke:var(--wait);stroke-width:2;stroke-dasharray:5 3}.graph .next rect{stroke-dasharray:2 3}tr:target{background:var(--panel)}
.state.done{color:var(--good)}.state.failed{color:var(--bad)}.state.waits{color:var(--wait)}
summary{cursor:pointer;padding:.2rem 0}
.chips{display:flex;flex-wrap:wrap;gap:.3rem 1rem;list-style:none;padding:0}.chips a{display:inline-block;padding:.2rem 0}
iframe{width:100%;min-height:24rem;border:1px solid var(--line);background:#fff}
footer{max-width:84rem;margin:2rem auto 0;padding:1rem;border-top:1px solid var(--line);color:var(--dim)}
@media (max-width:40rem){header .who{margin-left:0}.lane{grid-template-columns:1fr 5rem}.lane svg{grid-row:2;grid-column:1/-1}dl{grid-template-columns:1fr}dt{margin-top:.3rem}}
`;
