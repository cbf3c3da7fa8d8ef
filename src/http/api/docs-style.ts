/** Style sheet of /docs. The content security policy contains its hash. */
export const docsStyle = `
:root{color-scheme:light dark;--ink:#1b2430;--soft:#5b6675;--line:#dfe4ea;--ground:#fff;--tint:#f5f7fa;--accent:#1d6fb8;
--get:#1d7a4d;--post:#1d5fb8;--put:#8a5a00;--patch:#6b3fa0;--delete:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf2;--soft:#9aa7b8;--line:#2b3542;--ground:#11161d;--tint:#19212b;
--accent:#6cb2f0;--get:#5cc894;--post:#7db4f5;--put:#e0ac4f;--patch:#bd9bec;--delete:#f2887f}}
*{box-sizing:border-box}
body{margin:0;font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
a{color:var(--accent);text-underline-offset:2px}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,monospace;background:var(--tint);border-radius:4px;padding:.1em .3em}
header,main{max-width:62rem;margin:0 auto;padding:1rem 1.25rem}
header{padding-top:2.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .75rem}
h2{font-size:1.3rem;margin:2.5rem 0 .75rem;padding-top:.5rem;border-top:1px solid var(--line);text-transform:capitalize}
h2.plain{text-transform:none}
h3{font-size:.8rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:1.25rem 0 .35rem}
p{margin:.35rem 0 .75rem;max-width:46rem}
nav{display:flex;flex-wrap:wrap;gap:.35rem .9rem;margin-top:1rem}
details{border:1px solid var(--line);border-radius:8px;margin:.5rem 0;background:var(--ground)}
details[open]{box-shadow:0 1px 6px rgb(0 0 0/.08)}
summary{display:flex;flex-wrap:wrap;align-items:baseline;gap:.2rem .75rem;padding:.6rem .9rem;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:8px}
.method{font:700 .8rem ui-monospace,monospace;min-width:4.2rem;text-transform:uppercase}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.path{font:.95rem ui-monospace,monospace;overflow-wrap:anywhere}
.title{color:var(--soft);margin-left:auto}
.body{padding:.25rem .9rem 1rem;border-top:1px solid var(--line)}
.badge{display:inline-block;font-size:.8rem;border:1px solid var(--line);background:var(--tint);border-radius:999px;
padding:.1rem .6rem;margin:.6rem .35rem 0 0}
.scroll{overflow-x:auto}
pre{margin:.35rem 0;padding:.7rem .9rem;background:var(--tint);border-radius:8px}
pre code{padding:0;background:none}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem .4rem 0;border-top:1px solid var(--line);font-weight:400}
tr:first-child>*{border-top:0}
td p,th p{margin:0}
.place,.limits{color:var(--soft);font-size:.85rem}
.required{color:var(--delete);font-size:.8rem}
@media(max-width:40rem){.title{margin-left:0;width:100%}tr{display:block;padding:.35rem 0;border-top:1px solid var(--line)}
tr:first-child{border-top:0}th,td{display:block;border:0;padding:.1rem 0}}
`;
