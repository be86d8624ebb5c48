import{a as ee}from"./chunk-GGVOZQQM.js";import{a as Z,b as te}from"./chunk-I6W7RIK4.js";import{d as Y}from"./chunk-LBSFONQK.js";import{g as Q}from"./chunk-VVEEYDRR.js";import"./chunk-3PZAUJFM.js";import{A as E,O as H,S as M,U as X,X as q,Y as z,aa as e,b as g,ba as K,e as u,f as B,ga as R,h as S,la as O,n as A,p as F,ra as V,s as W,t as D,u as I,v as N}from"./chunk-L4ILBYYX.js";var h=(t,o="raw_exec")=>`    task "main" {
      driver = "${o}"

      config {
${t}
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
`,w=t=>`        command = "/bin/sh"
        args    = ["-c", "${t}"]`,ie=`job "example" {
  group "main" {
    count = 1

${h(w("while true; do date; sleep 5; done"))}  }
}
`,le=`job "web" {
  group "main" {
    count = 2

    network {
      port "http" {}
    }

    service {
      name     = "web"
      port     = "http"
      provider = "nomad"

      check {
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
    }

    update {
      max_parallel = 1
      auto_revert  = true
    }

${h(w("exec python3 -m http.server ${NOMAD_PORT_http}"))}  }
}
`,ce=`job "once" {
  type = "batch"

  group "main" {
${h(w("echo done"))}  }
}
`,ue=`job "nightly" {
  type = "batch"

  periodic {
    crons            = ["0 2 * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "main" {
${h(w("date"))}  }
}
`,me=`job "on-demand" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["who"]
  }

  group "main" {
${h(w("echo hello $NOMAD_META_who"))}  }
}
`,pe=`job "everywhere" {
  type = "system"

  group "main" {
${h(w("while true; do uptime; sleep 60; done"))}  }
}
`,de=`job "container" {
  group "main" {
    network {
      port "http" {
        to = 80
      }
    }

${h(`        image = "nginx:1.27"
        ports = ["http"]`,"docker")}  }
}
`,_=[["Service",ie],["Service with a port and a check",le],["Batch, once",ce],["Batch, by a calendar",ue],["Batch, on demand",me],["On every client",pe],["Container",de]];var G="draft of a job";function re(t){return/^\s*namespace\s*=\s*"([^"$%\\]+)"/m.exec(t)?.[1]}async function fe(t,o,s){if(t.trimStart().startsWith("{")){let a=JSON.parse(t);return{job:"Job"in a?a.Job:a,source:{Source:t,Format:"json"}}}return{job:await D("POST","/v1/jobs/parse",{namespace:re(t)??s},{JobHCL:t,Canonicalize:!0,...o===""?{}:{Variables:o}}),source:{Source:t,Format:"hcl2",...o===""?{}:{Variables:o}}}}var be=[["Place","create"],["DestructiveUpdate","destroy and create"],["InPlaceUpdate","update in place"],["Canary","canary"],["Migrate","migrate"],["Stop","destroy"],["Preemptions","preempt"],["Ignore","ignore"]];function We(){let t=S(null),o=S(null),[s,i]=u(""),[r,a]=u(null),[c,p]=u(""),[v,$]=u(!1),[y,k]=u(!1),d=M.value.query.get("job"),j=M.value.query.get("namespace")??"default",x=d||A.value==="*"?j:A.value,J=S(()=>{});B(()=>{let n=!0;return(async()=>{let[{makeEditor:m},{text:f,values:P}]=await Promise.all([import("./editor-BUQ6HN7K.js"),d?Pe(d,j,i):we()]);!n||!t.current||(P!==""&&(p(P),$(!0)),o.current=m(t.current,"Job definition",f,se=>{a(null),d||oe(se)},()=>J.current()),k(!0))})(),()=>{n=!1,o.current?.end(),o.current=null}},[d]);let U=n=>{let f=n instanceof F&&n.status===403?`${N(n)}: this needs submit-job in namespace ${re(o.current?.text()??"")??x}`:N(n),P=ee(f);i(P!==null&&!/\bline \d/i.test(f)?`Line ${P}: ${f}`:f),o.current?.setError(P,f)},l=async n=>{i(""),o.current?.setError(null,"");try{await n(await fe(o.current?.text()??"",c,x))}catch(m){a(null),U(m)}},b=()=>l(async n=>{let m=await D("PUT",`/v1/job/${I(n.job.ID)}/plan`,{namespace:n.job.Namespace},{Job:n.job,Diff:!0});a({plan:m,parsed:n})});J.current=()=>{b()};let C=()=>l(async n=>{let m=r&&r.parsed.job.ID===n.job.ID?{EnforceIndex:!0,JobModifyIndex:r.plan.JobModifyIndex}:{};await D("PUT","/v1/jobs",{namespace:n.job.Namespace},{Job:n.job,Submission:n.source,...m}),d||oe(""),X(z(n.job.ID,n.job.Namespace??"default"))}),T=async n=>{n&&o.current?.setText(await n.text())};return e(g,{children:[e(K,{title:"Run job",back:{href:"/ui/jobs",text:"Jobs"},children:"Run job"}),e("div",{class:"actions",children:[e("label",{children:["Template ",e("select",{value:"",onChange:n=>{let m=_.find(([f])=>f===n.currentTarget.value);n.currentTarget.value="",m&&o.current?.setText(m[1])},children:[e("option",{value:"",children:"choose…"}),_.map(([n])=>e("option",{children:n},n))]})]}),e("label",{class:"button",children:["Upload",e("input",{type:"file",class:"hidden",accept:".hcl,.nomad,.json,text/plain",onChange:n=>{T(n.currentTarget.files?.[0])}})]}),e("button",{type:"button","aria-expanded":v,onClick:()=>$(!v),children:"Values for variables"}),e("span",{class:"deeds",children:[e(O,{disabled:!y,act:b,children:"Plan"}),e(O,{kind:"main",disabled:!y,act:C,children:"Run"})]})]}),v?e("label",{class:"field",children:["Values of HCL variables, as in a file for -var-file",e("textarea",{rows:4,value:c,onInput:n=>{a(null),p(n.currentTarget.value)}})]}):null,s?e("pre",{class:"trouble",role:"alert",children:s}):null,e("div",{class:"side-by-side",children:[e("div",{class:"editor",ref:t}),e("section",{class:"panel","aria-label":"Plan",children:[e("h2",{children:"Plan"}),r?e(g,{children:[e(he,{plan:r.plan}),e(ge,{job:r.parsed.job},r.plan.JobModifyIndex+JSON.stringify(r.plan.Diff??""))]}):e("p",{class:"faint",children:"What would happen: press Plan, or Ctrl+Enter in the text."})]})]})]})}var ne=1e3;function ge({job:t}){let o=Q("/v1/nodes").value??[],[s,i]=u(""),[r,a]=u(""),[c,p]=u("1"),[v,$]=u(String(t.Priority)),[y,k]=u(null),[d,j]=u(""),x=[["","none"],...o.map(l=>[l.ID,`${l.Name} ${l.ID.slice(0,8)}`])],J=l=>o.find(b=>b.ID===l)?.Name??E(l);return e("details",{class:"what-if",children:[e("summary",{children:"What if"}),e("div",{class:"actions",children:[e(V,{label:"Without client",value:s,options:x,onChange:i}),e(V,{label:"With more clients like",value:r,options:x,onChange:a}),e("label",{class:"field",children:["How many more",e("input",{type:"number",min:"1",max:ne,value:c,disabled:!r,onInput:l=>p(l.currentTarget.value)})]}),e("label",{class:"field",children:["Priority",e("input",{type:"number",min:"1",max:"100",value:v,onInput:l=>$(l.currentTarget.value)})]}),e(O,{act:async()=>{j(""),k(null);let l={...t,Priority:Number(v)||t.Priority},b=Math.min(ne,Math.max(1,Math.round(Number(c))||1));p(String(b));let C=[...s?[{Remove:s}]:[],...r?[{Add:b,Like:r}]:[]],T=await D("PUT",`/v1/job/${I(t.ID)}/plan`,{namespace:t.Namespace},{Job:l,Diff:!1,With:C}),n=[s?`without ${J(s)}`:"",r?`with ${b} more like ${J(r)}`:""].filter(Boolean).join(", ")||"with all clients";k({title:`${n[0]?.toUpperCase()}${n.slice(1)}, priority ${l.Priority}`,plan:T})},failed:j,children:"Plan that"})]}),d?e("p",{class:"trouble",role:"alert",children:d}):null,y?e("section",{"aria-label":"What would happen then",children:[e("h3",{children:y.title}),e(ae,{plan:y.plan,name:"Groups then"})]}):null]})}function he({plan:t}){return e(g,{children:[e(ae,{plan:t,name:"Groups"}),t.Diff?e(g,{children:[e("h3",{children:"Changes"}),e(Z,{diff:t.Diff})]}):null,e("p",{class:"faint",children:["Against job modify index ",t.JobModifyIndex,": Run is refused if somebody changes the job before."]})]})}function ve(t){return t.replace(/^\d+ (warnings?|errors? occurred):\s*/,"").split(/^\s*\* /m).map(o=>o.trim()).filter(o=>o!=="")}function ae({plan:t,name:o}){let s=Object.entries(t.Annotations?.DesiredTGUpdates??{}),i=Object.entries(t.FailedTGAllocs??{}),r=t.Annotations?.PreemptedAllocs??[];return e(g,{children:[e(R,{name:o,rows:s,keyOf:([a])=>a,columns:[{name:"Group",cell:([a])=>a},{name:"What happens",cell:([,a])=>be.filter(([c])=>(a[c]??0)>0).map(([c,p])=>`${a[c]} ${p}`).join(", ")||"nothing"}]}),e(ye,{placements:t.Placements??{}}),t.Warnings?e("ul",{class:"warning",children:ve(t.Warnings).map(a=>e("li",{children:a}))}):null,i.map(([a,c])=>e("div",{class:"warning",children:[e("p",{children:[e("b",{children:a}),": ",c.CoalescedFailures+1," would find no place"]}),e("ul",{children:Y(c).map(p=>e("li",{children:p}))})]})),r.length>0?e("p",{class:"warning",children:["Would preempt allocations of ",[...new Set(r.map(a=>a.JobID))].join(", ")]}):null,i.length===0?e("p",{children:"All allocations find a place."}):null,t.NextPeriodicLaunch&&!t.NextPeriodicLaunch.startsWith("0001-")?e("p",{children:["It would be launched next at ",H(Date.parse(t.NextPeriodicLaunch)),"."]}):null]})}var L=20;function ye({placements:t}){let o=Object.entries(t).map(([s,i])=>({group:s,on:[...i].sort((r,a)=>a.Count-r.Count||(r.NodeName<a.NodeName?-1:1))}));return o.length===0?null:e(R,{name:"Where new allocations come",rows:o,keyOf:({group:s})=>s,columns:[{name:"Group",cell:({group:s})=>s},{name:"Would come to",cell:({on:s})=>e(g,{children:[s.slice(0,L).map((i,r)=>e(g,{children:[r>0?", ":"",e("a",{href:q("clients",i.NodeID),children:i.NodeName||E(i.NodeID)})," ",i.Count]})),s.length>L?` and ${s.length-L} more clients`:""]})}]})}async function Pe(t,o,s){try{let{value:i}=await W(`/v1/job/${I(t)}`,{namespace:o});try{let{value:r}=await W(`/v1/job/${I(t)}/submission`,{namespace:o,version:i.Version});return{text:r.Source,values:te(r)}}catch{return{text:JSON.stringify({Job:i},null,2),values:""}}}catch(i){return s(N(i)),{text:"",values:""}}}function we(){try{return Promise.resolve({text:sessionStorage.getItem(G)??"",values:""})}catch{return Promise.resolve({text:"",values:""})}}function oe(t){try{t===""?sessionStorage.removeItem(G):sessionStorage.setItem(G,t)}catch{}}export{We as RunPage,re as namespaceOf};
