import{a as Q}from"./chunk-GGVOZQQM.js";import{a as K,b as Y}from"./chunk-I6W7RIK4.js";import{c as z}from"./chunk-M2IWDAJK.js";import{g as q}from"./chunk-VVEEYDRR.js";import"./chunk-3PZAUJFM.js";import{A as W,O as U,S as A,U as B,X as F,Y as H,aa as e,b,ba as X,e as m,f as G,ga as E,h as N,la as S,ra as R,s as C,t as j,u as x,v as T}from"./chunk-L4ILBYYX.js";var g=(t,a="raw_exec")=>`    task "main" {
      driver = "${a}"

      config {
${t}
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
`,P=t=>`        command = "/bin/sh"
        args    = ["-c", "${t}"]`,ne=`job "example" {
  group "main" {
    count = 1

${g(P("while true; do date; sleep 5; done"))}  }
}
`,oe=`job "web" {
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

${g(P("exec python3 -m http.server ${NOMAD_PORT_http}"))}  }
}
`,ae=`job "once" {
  type = "batch"

  group "main" {
${g(P("echo done"))}  }
}
`,re=`job "nightly" {
  type = "batch"

  periodic {
    crons            = ["0 2 * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "main" {
${g(P("date"))}  }
}
`,ie=`job "on-demand" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["who"]
  }

  group "main" {
${g(P("echo hello $NOMAD_META_who"))}  }
}
`,se=`job "everywhere" {
  type = "system"

  group "main" {
${g(P("while true; do uptime; sleep 60; done"))}  }
}
`,le=`job "container" {
  group "main" {
    network {
      port "http" {
        to = 80
      }
    }

${g(`        image = "nginx:1.27"
        ports = ["http"]`,"docker")}  }
}
`,M=[["Service",ne],["Service with a port and a check",oe],["Batch, once",ae],["Batch, by a calendar",re],["Batch, on demand",ie],["On every client",se],["Container",le]];var L="draft of a job";async function ce(t,a){if(t.trimStart().startsWith("{")){let o=JSON.parse(t);return{job:"Job"in o?o.Job:o,source:{Source:t,Format:"json"}}}return{job:await j("POST","/v1/jobs/parse",{},{JobHCL:t,Canonicalize:!0,...a===""?{}:{Variables:a}}),source:{Source:t,Format:"hcl2",...a===""?{}:{Variables:a}}}}var ue=[["Place","create"],["DestructiveUpdate","destroy and create"],["InPlaceUpdate","update in place"],["Canary","canary"],["Migrate","migrate"],["Stop","destroy"],["Preemptions","preempt"],["Ignore","ignore"]];function Se(){let t=N(null),a=N(null),[r,i]=m(""),[o,s]=m(null),[u,p]=m(""),[h,J]=m(!1),[v,D]=m(!1),d=A.value.query.get("job"),I=A.value.query.get("namespace")??"default",w=N(()=>{});G(()=>{let n=!0;return(async()=>{let[{makeEditor:l},{text:f,values:_}]=await Promise.all([import("./editor-BUQ6HN7K.js"),d?be(d,I,i):fe()]);!n||!t.current||(_!==""&&(p(_),J(!0)),a.current=l(t.current,"Job definition",f,te=>{s(null),d||Z(te)},()=>w.current()),D(!0))})(),()=>{n=!1,a.current?.end(),a.current=null}},[d]);let k=n=>{let l=T(n),f=Q(l);i(f!==null&&!/\bline \d/i.test(l)?`Line ${f}: ${l}`:l),a.current?.setError(f,l)},$=async n=>{i(""),a.current?.setError(null,"");try{await n(await ce(a.current?.text()??"",u))}catch(l){s(null),k(l)}},c=()=>$(async n=>{let l=await j("PUT",`/v1/job/${x(n.job.ID)}/plan`,{namespace:n.job.Namespace},{Job:n.job,Diff:!0});s({plan:l,parsed:n})});w.current=()=>{c()};let y=()=>$(async n=>{let l=o&&o.parsed.job.ID===n.job.ID?{EnforceIndex:!0,JobModifyIndex:o.plan.JobModifyIndex}:{};await j("PUT","/v1/jobs",{namespace:n.job.Namespace},{Job:n.job,Submission:n.source,...l}),d||Z(""),B(H(n.job.ID,n.job.Namespace??"default"))}),O=async n=>{n&&a.current?.setText(await n.text())};return e(b,{children:[e(X,{title:"Run job",back:{href:"/ui/jobs",text:"Jobs"},children:"Run job"}),e("div",{class:"actions",children:[e("label",{children:["Template ",e("select",{value:"",onChange:n=>{let l=M.find(([f])=>f===n.currentTarget.value);n.currentTarget.value="",l&&a.current?.setText(l[1])},children:[e("option",{value:"",children:"choose…"}),M.map(([n])=>e("option",{children:n},n))]})]}),e("label",{class:"button",children:["Upload",e("input",{type:"file",class:"hidden",accept:".hcl,.nomad,.json,text/plain",onChange:n=>{O(n.currentTarget.files?.[0])}})]}),e("button",{type:"button","aria-expanded":h,onClick:()=>J(!h),children:"Values for variables"}),e("span",{class:"deeds",children:[e(S,{disabled:!v,act:c,children:"Plan"}),e(S,{kind:"main",disabled:!v,act:y,children:"Run"})]})]}),h?e("label",{class:"field",children:["Values of HCL variables, as in a file for -var-file",e("textarea",{rows:4,value:u,onInput:n=>{s(null),p(n.currentTarget.value)}})]}):null,r?e("pre",{class:"trouble",role:"alert",children:r}):null,e("div",{class:"side-by-side",children:[e("div",{class:"editor",ref:t}),e("section",{class:"panel","aria-label":"Plan",children:[e("h2",{children:"Plan"}),o?e(b,{children:[e(pe,{plan:o.plan}),e(me,{job:o.parsed.job},o.plan.JobModifyIndex+JSON.stringify(o.plan.Diff??""))]}):e("p",{class:"faint",children:"What would happen: press Plan, or Ctrl+Enter in the text."})]})]})]})}function me({job:t}){let a=q("/v1/nodes").value??[],[r,i]=m(""),[o,s]=m(""),[u,p]=m("1"),[h,J]=m(String(t.Priority)),[v,D]=m(null),[d,I]=m(""),w=[["","none"],...a.map(c=>[c.ID,`${c.Name} ${c.ID.slice(0,8)}`])],k=c=>a.find(y=>y.ID===c)?.Name??W(c);return e("details",{class:"what-if",children:[e("summary",{children:"What if"}),e("div",{class:"actions",children:[e(R,{label:"Without client",value:r,options:w,onChange:i}),e(R,{label:"With more clients like",value:o,options:w,onChange:s}),e("label",{class:"field",children:["How many more",e("input",{type:"number",min:"1",max:"1000",value:u,disabled:!o,onInput:c=>p(c.currentTarget.value)})]}),e("label",{class:"field",children:["Priority",e("input",{type:"number",min:"1",max:"100",value:h,onInput:c=>J(c.currentTarget.value)})]}),e(S,{act:async()=>{I(""),D(null);let c={...t,Priority:Number(h)||t.Priority},y=Math.max(1,Number(u)||1),O=[...r?[{Remove:r}]:[],...o?[{Add:y,Like:o}]:[]],n=await j("PUT",`/v1/job/${x(t.ID)}/plan`,{namespace:t.Namespace},{Job:c,Diff:!1,With:O}),l=[r?`without ${k(r)}`:"",o?`with ${y} more like ${k(o)}`:""].filter(Boolean).join(", ")||"with all clients";D({title:`${l[0]?.toUpperCase()}${l.slice(1)}, priority ${c.Priority}`,plan:n})},failed:I,children:"Plan that"})]}),d?e("p",{class:"trouble",role:"alert",children:d}):null,v?e("section",{"aria-label":"What would happen then",children:[e("h3",{children:v.title}),e(ee,{plan:v.plan,name:"Groups then"})]}):null]})}function pe({plan:t}){return e(b,{children:[e(ee,{plan:t,name:"Groups"}),t.Diff?e(b,{children:[e("h3",{children:"Changes"}),e(K,{diff:t.Diff})]}):null,e("p",{class:"faint",children:["Against job modify index ",t.JobModifyIndex,": Run is refused if somebody changes the job before."]})]})}function ee({plan:t,name:a}){let r=Object.entries(t.Annotations?.DesiredTGUpdates??{}),i=Object.entries(t.FailedTGAllocs??{}),o=t.Annotations?.PreemptedAllocs??[];return e(b,{children:[e(E,{name:a,rows:r,keyOf:([s])=>s,columns:[{name:"Group",cell:([s])=>s},{name:"What happens",cell:([,s])=>ue.filter(([u])=>(s[u]??0)>0).map(([u,p])=>`${s[u]} ${p}`).join(", ")||"nothing"}]}),e(de,{placements:t.Placements??{}}),t.Warnings?e("p",{class:"warning",children:t.Warnings}):null,i.map(([s,u])=>e("div",{class:"warning",children:[e("p",{children:[e("b",{children:s}),": ",u.CoalescedFailures+1," would find no place"]}),e("ul",{children:z(u).map(p=>e("li",{children:p}))})]})),o.length>0?e("p",{class:"warning",children:["Would preempt allocations of ",[...new Set(o.map(s=>s.JobID))].join(", ")]}):null,i.length===0?e("p",{children:"All allocations find a place."}):null,t.NextPeriodicLaunch&&!t.NextPeriodicLaunch.startsWith("0001-")?e("p",{children:["It would be launched next at ",U(Date.parse(t.NextPeriodicLaunch)),"."]}):null]})}var V=20;function de({placements:t}){let a=Object.entries(t).map(([r,i])=>({group:r,on:[...i].sort((o,s)=>s.Count-o.Count||(o.NodeName<s.NodeName?-1:1))}));return a.length===0?null:e(E,{name:"Where new allocations come",rows:a,keyOf:({group:r})=>r,columns:[{name:"Group",cell:({group:r})=>r},{name:"Would come to",cell:({on:r})=>e(b,{children:[r.slice(0,V).map((i,o)=>e(b,{children:[o>0?", ":"",e("a",{href:F("clients",i.NodeID),children:i.NodeName||W(i.NodeID)})," ",i.Count]})),r.length>V?` and ${r.length-V} more clients`:""]})}]})}async function be(t,a,r){try{let{value:i}=await C(`/v1/job/${x(t)}`,{namespace:a});try{let{value:o}=await C(`/v1/job/${x(t)}/submission`,{namespace:a,version:i.Version});return{text:o.Source,values:Y(o)}}catch{return{text:JSON.stringify({Job:i},null,2),values:""}}}catch(i){return r(T(i)),{text:"",values:""}}}function fe(){try{return Promise.resolve({text:sessionStorage.getItem(L)??"",values:""})}catch{return Promise.resolve({text:"",values:""})}}function Z(t){try{t===""?sessionStorage.removeItem(L):sessionStorage.setItem(L,t)}catch{}}export{Se as RunPage};
