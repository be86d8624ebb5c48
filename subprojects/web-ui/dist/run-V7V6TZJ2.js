import{a as q}from"./chunk-GGVOZQQM.js";import{a as X,b as z}from"./chunk-I6W7RIK4.js";import{c as H}from"./chunk-LH7IJBLW.js";import{g as F}from"./chunk-VVEEYDRR.js";import"./chunk-3PZAUJFM.js";import{A as V,O as M,S as $,U as _,X as G,Y as L,aa as e,b,ba as U,e as p,f as R,ga as k,h as x,la as D,ra as B,s as S,t as P,u as w,v as N}from"./chunk-L4ILBYYX.js";var g=(t,o="raw_exec")=>`    task "main" {
      driver = "${o}"

      config {
${t}
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
`,y=t=>`        command = "/bin/sh"
        args    = ["-c", "${t}"]`,ne=`job "example" {
  group "main" {
    count = 1

${g(y("while true; do date; sleep 5; done"))}  }
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

${g(y("exec python3 -m http.server ${NOMAD_PORT_http}"))}  }
}
`,ae=`job "once" {
  type = "batch"

  group "main" {
${g(y("echo done"))}  }
}
`,re=`job "nightly" {
  type = "batch"

  periodic {
    crons            = ["0 2 * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "main" {
${g(y("date"))}  }
}
`,ie=`job "on-demand" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["who"]
  }

  group "main" {
${g(y("echo hello $NOMAD_META_who"))}  }
}
`,se=`job "everywhere" {
  type = "system"

  group "main" {
${g(y("while true; do uptime; sleep 60; done"))}  }
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
`,O=[["Service",ne],["Service with a port and a check",oe],["Batch, once",ae],["Batch, by a calendar",re],["Batch, on demand",ie],["On every client",se],["Container",le]];var C="draft of a job";async function ce(t,o){if(t.trimStart().startsWith("{")){let a=JSON.parse(t);return{job:"Job"in a?a.Job:a,source:{Source:t,Format:"json"}}}return{job:await P("POST","/v1/jobs/parse",{},{JobHCL:t,Canonicalize:!0,...o===""?{}:{Variables:o}}),source:{Source:t,Format:"hcl2",...o===""?{}:{Variables:o}}}}var ue=[["Place","create"],["DestructiveUpdate","destroy and create"],["InPlaceUpdate","update in place"],["Canary","canary"],["Migrate","migrate"],["Stop","destroy"],["Preemptions","preempt"],["Ignore","ignore"]];function $e(){let t=x(null),o=x(null),[i,r]=p(""),[a,s]=p(null),[c,m]=p(""),[h,v]=p(!1),[j,u]=p(!1),d=$.value.query.get("job"),I=$.value.query.get("namespace")??"default",J=x(()=>{});R(()=>{let n=!0;return(async()=>{let[{makeEditor:l},{text:f,values:E}]=await Promise.all([import("./editor-BUQ6HN7K.js"),d?be(d,I,r):fe()]);!n||!t.current||(E!==""&&(m(E),v(!0)),o.current=l(t.current,"Job definition",f,te=>{s(null),d||K(te)},()=>J.current()),u(!0))})(),()=>{n=!1,o.current?.end(),o.current=null}},[d]);let Y=n=>{let l=N(n),f=q(l);r(f!==null&&!/\bline \d/i.test(l)?`Line ${f}: ${l}`:l),o.current?.setError(f,l)},W=async n=>{r(""),o.current?.setError(null,"");try{await n(await ce(o.current?.text()??"",c))}catch(l){s(null),Y(l)}},A=()=>W(async n=>{let l=await P("PUT",`/v1/job/${w(n.job.ID)}/plan`,{namespace:n.job.Namespace},{Job:n.job,Diff:!0});s({plan:l,parsed:n})});J.current=()=>{A()};let Z=()=>W(async n=>{let l=a&&a.parsed.job.ID===n.job.ID?{EnforceIndex:!0,JobModifyIndex:a.plan.JobModifyIndex}:{};await P("PUT","/v1/jobs",{namespace:n.job.Namespace},{Job:n.job,Submission:n.source,...l}),d||K(""),_(L(n.job.ID,n.job.Namespace??"default"))}),ee=async n=>{n&&o.current?.setText(await n.text())};return e(b,{children:[e(U,{title:"Run job",back:{href:"/ui/jobs",text:"Jobs"},children:"Run job"}),e("div",{class:"actions",children:[e("label",{children:["Template ",e("select",{value:"",onChange:n=>{let l=O.find(([f])=>f===n.currentTarget.value);n.currentTarget.value="",l&&o.current?.setText(l[1])},children:[e("option",{value:"",children:"choose…"}),O.map(([n])=>e("option",{children:n},n))]})]}),e("label",{class:"button",children:["Upload",e("input",{type:"file",class:"hidden",accept:".hcl,.nomad,.json,text/plain",onChange:n=>{ee(n.currentTarget.files?.[0])}})]}),e("button",{type:"button","aria-expanded":h,onClick:()=>v(!h),children:"Values for variables"}),e("span",{class:"deeds",children:[e(D,{disabled:!j,act:A,children:"Plan"}),e(D,{kind:"main",disabled:!j,act:Z,children:"Run"})]})]}),h?e("label",{class:"field",children:["Values of HCL variables, as in a file for -var-file",e("textarea",{rows:4,value:c,onInput:n=>{s(null),m(n.currentTarget.value)}})]}):null,i?e("pre",{class:"trouble",role:"alert",children:i}):null,e("div",{class:"side-by-side",children:[e("div",{class:"editor",ref:t}),e("section",{class:"panel","aria-label":"Plan",children:[e("h2",{children:"Plan"}),a?e(b,{children:[e(pe,{plan:a.plan}),e(de,{job:a.parsed.job},a.plan.JobModifyIndex+JSON.stringify(a.plan.Diff??""))]}):e("p",{class:"faint",children:"What would happen: press Plan, or Ctrl+Enter in the text."})]})]})]})}function de({job:t}){let o=F("/v1/nodes").value??[],[i,r]=p(""),[a,s]=p(String(t.Priority)),[c,m]=p(null),[h,v]=p(""),j=async()=>{v(""),m(null);let u={...t,Priority:Number(a)||t.Priority},d=o.find(J=>J.ID===i);d&&(u.Constraints=[...u.Constraints??[],{LTarget:"${node.unique.id}",RTarget:d.ID,Operand:"!="}]);let I=await P("PUT",`/v1/job/${w(t.ID)}/plan`,{namespace:t.Namespace},{Job:u,Diff:!1});m({title:`${d?`Without ${d.Name}`:"With all clients"}, priority ${u.Priority}`,plan:I})};return e("details",{class:"what-if",children:[e("summary",{children:"What if"}),e("div",{class:"actions",children:[e(B,{label:"Without client",value:i,options:[["","none"],...o.map(u=>[u.ID,`${u.Name} ${u.ID.slice(0,8)}`])],onChange:r}),e("label",{class:"field",children:["Priority",e("input",{type:"number",min:"1",max:"100",value:a,onInput:u=>s(u.currentTarget.value)})]}),e(D,{act:j,failed:v,children:"Plan that"})]}),h?e("p",{class:"trouble",role:"alert",children:h}):null,c?e("section",{"aria-label":"What would happen then",children:[e("h3",{children:c.title}),e(Q,{plan:c.plan,name:"Groups then"})]}):null]})}function pe({plan:t}){return e(b,{children:[e(Q,{plan:t,name:"Groups"}),t.Diff?e(b,{children:[e("h3",{children:"Changes"}),e(X,{diff:t.Diff})]}):null,e("p",{class:"faint",children:["Against job modify index ",t.JobModifyIndex,": Run is refused if somebody changes the job before."]})]})}function Q({plan:t,name:o}){let i=Object.entries(t.Annotations?.DesiredTGUpdates??{}),r=Object.entries(t.FailedTGAllocs??{}),a=t.Annotations?.PreemptedAllocs??[];return e(b,{children:[e(k,{name:o,rows:i,keyOf:([s])=>s,columns:[{name:"Group",cell:([s])=>s},{name:"What happens",cell:([,s])=>ue.filter(([c])=>(s[c]??0)>0).map(([c,m])=>`${s[c]} ${m}`).join(", ")||"nothing"}]}),e(me,{placements:t.Placements??{}}),t.Warnings?e("p",{class:"warning",children:t.Warnings}):null,r.map(([s,c])=>e("div",{class:"warning",children:[e("p",{children:[e("b",{children:s}),": ",c.CoalescedFailures+1," would find no place"]}),e("ul",{children:H(c).map(m=>e("li",{children:m}))})]})),a.length>0?e("p",{class:"warning",children:["Would preempt allocations of ",[...new Set(a.map(s=>s.JobID))].join(", ")]}):null,r.length===0?e("p",{children:"All allocations find a place."}):null,t.NextPeriodicLaunch&&!t.NextPeriodicLaunch.startsWith("0001-")?e("p",{children:["It would be launched next at ",M(Date.parse(t.NextPeriodicLaunch)),"."]}):null]})}var T=20;function me({placements:t}){let o=Object.entries(t).map(([i,r])=>({group:i,on:[...r].sort((a,s)=>s.Count-a.Count||(a.NodeName<s.NodeName?-1:1))}));return o.length===0?null:e(k,{name:"Where new allocations come",rows:o,keyOf:({group:i})=>i,columns:[{name:"Group",cell:({group:i})=>i},{name:"Would come to",cell:({on:i})=>e(b,{children:[i.slice(0,T).map((r,a)=>e(b,{children:[a>0?", ":"",e("a",{href:G("clients",r.NodeID),children:r.NodeName||V(r.NodeID)})," ",r.Count]})),i.length>T?` and ${i.length-T} more clients`:""]})}]})}async function be(t,o,i){try{let{value:r}=await S(`/v1/job/${w(t)}`,{namespace:o});try{let{value:a}=await S(`/v1/job/${w(t)}/submission`,{namespace:o,version:r.Version});return{text:a.Source,values:z(a)}}catch{return{text:JSON.stringify({Job:r},null,2),values:""}}}catch(r){return i(N(r)),{text:"",values:""}}}function fe(){try{return Promise.resolve({text:sessionStorage.getItem(C)??"",values:""})}catch{return Promise.resolve({text:"",values:""})}}function K(t){try{t===""?sessionStorage.removeItem(C):sessionStorage.setItem(C,t)}catch{}}export{$e as RunPage};
