import { load, post, compare } from "./load.ts";
import { startSubjects } from "./subjects.ts";
const s = await startSubjects();
console.log(await post(`${s.hull}/skills/tool`, "hi"));
console.log(await post(`${s.hull}/skills/plain`, "hi"), await post(s.bare, "hi"));
for (const c of [1,8]) { const r = await compare(()=>post(s.bare,"hi"), ()=>post(`${s.hull}/skills/plain`,"hi"), c, 200); console.log(c, r.floor.p50, r.ours.p50, r.ours.p50/r.floor.p50);
 const h = await load(()=>new Promise<void>((res,rej)=>import("node:http").then(({get,})=>get(`${s.hull}/healthz`,(a)=>{a.resume();a.on("end",()=>res())}).on("error",rej))), c, 200); console.log("healthz", h.p50); }
await s.stop();
