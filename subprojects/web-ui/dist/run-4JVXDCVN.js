import{a as F}from"./chunk-GGVOZQQM.js";import{a as B,b as H}from"./chunk-IN5TP3S3.js";import{c as U}from"./chunk-LH7IJBLW.js";import{f as G}from"./chunk-SQTI4K6X.js";import"./chunk-5CT2VF25.js";import{J as E,N as T,P as R,T as V,X as e,Y as M,a as h,ba as L,d,e as W,g as x,ga as D,ma as _,q as S,r as P,s as w,t as $}from"./chunk-SJGB4AQE.js";var f=(t,o="raw_exec")=>`    task "main" {
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
        args    = ["-c", "${t}"]`,Z=`job "example" {
  group "main" {
    count = 1

${f(y("while true; do date; sleep 5; done"))}  }
}
`,ee=`job "web" {
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

${f(y("exec python3 -m http.server ${NOMAD_PORT_http}"))}  }
}
`,te=`job "once" {
  type = "batch"

  group "main" {
${f(y("echo done"))}  }
}
`,ne=`job "nightly" {
  type = "batch"

  periodic {
    crons            = ["0 2 * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "main" {
${f(y("date"))}  }
}
`,oe=`job "on-demand" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["who"]
  }

  group "main" {
${f(y("echo hello $NOMAD_META_who"))}  }
}
`,ae=`job "everywhere" {
  type = "system"

  group "main" {
${f(y("while true; do uptime; sleep 60; done"))}  }
}
`,re=`job "container" {
  group "main" {
    network {
      port "http" {
        to = 80
      }
    }

${f(`        image = "nginx:1.27"
        ports = ["http"]`,"docker")}  }
}
`,k=[["Service",Z],["Service with a port and a check",ee],["Batch, once",te],["Batch, by a calendar",ne],["Batch, on demand",oe],["On every client",ae],["Container",re]];var C="draft of a job";async function ie(t,o){if(t.trimStart().startsWith("{")){let a=JSON.parse(t);return{job:"Job"in a?a.Job:a,source:{Source:t,Format:"json"}}}return{job:await P("POST","/v1/jobs/parse",{},{JobHCL:t,Canonicalize:!0,...o===""?{}:{Variables:o}}),source:{Source:t,Format:"hcl2",...o===""?{}:{Variables:o}}}}var se=[["Place","create"],["DestructiveUpdate","destroy and create"],["InPlaceUpdate","update in place"],["Canary","canary"],["Migrate","migrate"],["Stop","destroy"],["Preemptions","preempt"],["Ignore","ignore"]];function xe(){let t=x(null),o=x(null),[u,s]=d(""),[a,r]=d(null),[l,m]=d(""),[g,v]=d(!1),[j,c]=d(!1),p=T.value.query.get("job"),I=T.value.query.get("namespace")??"default",J=x(()=>{});W(()=>{let n=!0;return(async()=>{let[{makeEditor:i},{text:b,values:A}]=await Promise.all([import("./editor-BUQ6HN7K.js"),p?ue(p,I,s):pe()]);!n||!t.current||(A!==""&&(m(A),v(!0)),o.current=i(t.current,"Job definition",b,Y=>{r(null),p||X(Y)},()=>J.current()),c(!0))})(),()=>{n=!1,o.current?.end(),o.current=null}},[p]);let z=n=>{let i=$(n),b=F(i);s(b!==null&&!/\bline \d/i.test(i)?`Line ${b}: ${i}`:i),o.current?.setError(b,i)},O=async n=>{s(""),o.current?.setError(null,"");try{await n(await ie(o.current?.text()??"",l))}catch(i){r(null),z(i)}},N=()=>O(async n=>{let i=await P("PUT",`/v1/job/${w(n.job.ID)}/plan`,{namespace:n.job.Namespace},{Job:n.job,Diff:!0});r({plan:i,parsed:n})});J.current=()=>{N()};let K=()=>O(async n=>{let i=a&&a.parsed.job.ID===n.job.ID?{EnforceIndex:!0,JobModifyIndex:a.plan.JobModifyIndex}:{};await P("PUT","/v1/jobs",{namespace:n.job.Namespace},{Job:n.job,Submission:n.source,...i}),p||X(""),R(V(n.job.ID,n.job.Namespace??"default"))}),Q=async n=>{n&&o.current?.setText(await n.text())};return e(h,{children:[e(M,{title:"Run job",back:{href:"/ui/jobs",text:"Jobs"},children:"Run job"}),e("div",{class:"actions",children:[e("label",{children:["Template ",e("select",{value:"",onChange:n=>{let i=k.find(([b])=>b===n.currentTarget.value);n.currentTarget.value="",i&&o.current?.setText(i[1])},children:[e("option",{value:"",children:"choose…"}),k.map(([n])=>e("option",{children:n},n))]})]}),e("label",{class:"button",children:["Upload",e("input",{type:"file",class:"hidden",accept:".hcl,.nomad,.json,text/plain",onChange:n=>{Q(n.currentTarget.files?.[0])}})]}),e("button",{type:"button","aria-expanded":g,onClick:()=>v(!g),children:"Values for variables"}),e("span",{class:"grow"}),e(D,{disabled:!j,act:N,children:"Plan"}),e(D,{kind:"main",disabled:!j,act:K,children:"Run"})]}),g?e("label",{class:"field",children:["Values of HCL variables, as in a file for -var-file",e("textarea",{rows:4,value:l,onInput:n=>{r(null),m(n.currentTarget.value)}})]}):null,u?e("pre",{class:"trouble",role:"alert",children:u}):null,e("div",{class:"side-by-side",children:[e("div",{class:"editor",ref:t}),e("section",{class:"panel","aria-label":"Plan",children:[e("h2",{children:"Plan"}),a?e(h,{children:[e(ce,{plan:a.plan}),e(le,{job:a.parsed.job},a.plan.JobModifyIndex+JSON.stringify(a.plan.Diff??""))]}):e("p",{class:"faint",children:"What would happen: press Plan, or Ctrl+Enter in the text."})]})]})]})}function le({job:t}){let o=G("/v1/nodes").value??[],[u,s]=d(""),[a,r]=d(String(t.Priority)),[l,m]=d(null),[g,v]=d(""),j=async()=>{v(""),m(null);let c={...t,Priority:Number(a)||t.Priority},p=o.find(J=>J.ID===u);p&&(c.Constraints=[...c.Constraints??[],{LTarget:"${node.unique.id}",RTarget:p.ID,Operand:"!="}]);let I=await P("PUT",`/v1/job/${w(t.ID)}/plan`,{namespace:t.Namespace},{Job:c,Diff:!1});m({title:`${p?`Without ${p.Name}`:"With all clients"}, priority ${c.Priority}`,plan:I})};return e("details",{class:"what-if",children:[e("summary",{children:"What if"}),e("div",{class:"actions",children:[e(_,{label:"Without client",value:u,options:[["","none"],...o.map(c=>[c.ID,`${c.Name} ${c.ID.slice(0,8)}`])],onChange:s}),e("label",{class:"field",children:["Priority",e("input",{type:"number",min:"1",max:"100",value:a,onInput:c=>r(c.currentTarget.value)})]}),e(D,{act:j,failed:v,children:"Plan that"})]}),g?e("p",{class:"trouble",role:"alert",children:g}):null,l?e("section",{"aria-label":"What would happen then",children:[e("h3",{children:l.title}),e(q,{plan:l.plan,name:"Groups then"})]}):null]})}function ce({plan:t}){return e(h,{children:[e(q,{plan:t,name:"Groups"}),t.Diff?e(h,{children:[e("h3",{children:"Changes"}),e(B,{diff:t.Diff})]}):null,e("p",{class:"faint",children:["Against job modify index ",t.JobModifyIndex,": Run is refused if somebody changes the job before."]})]})}function q({plan:t,name:o}){let u=Object.entries(t.Annotations?.DesiredTGUpdates??{}),s=Object.entries(t.FailedTGAllocs??{}),a=t.Annotations?.PreemptedAllocs??[];return e(h,{children:[e(L,{name:o,rows:u,keyOf:([r])=>r,columns:[{name:"Group",cell:([r])=>r},{name:"What happens",cell:([,r])=>se.filter(([l])=>(r[l]??0)>0).map(([l,m])=>`${r[l]} ${m}`).join(", ")||"nothing"}]}),t.Warnings?e("p",{class:"warning",children:t.Warnings}):null,s.map(([r,l])=>e("div",{class:"warning",children:[e("p",{children:[e("b",{children:r}),": ",l.CoalescedFailures+1," would find no place"]}),e("ul",{children:U(l).map(m=>e("li",{children:m}))})]})),a.length>0?e("p",{class:"warning",children:["Would preempt allocations of ",[...new Set(a.map(r=>r.JobID))].join(", ")]}):null,s.length===0?e("p",{children:"All allocations find a place."}):null,t.NextPeriodicLaunch&&!t.NextPeriodicLaunch.startsWith("0001-")?e("p",{children:["It would be launched next at ",E(Date.parse(t.NextPeriodicLaunch)),"."]}):null]})}async function ue(t,o,u){try{let{value:s}=await S(`/v1/job/${w(t)}`,{namespace:o});try{let{value:a}=await S(`/v1/job/${w(t)}/submission`,{namespace:o,version:s.Version});return{text:a.Source,values:H(a)}}catch{return{text:JSON.stringify({Job:s},null,2),values:""}}}catch(s){return u($(s)),{text:"",values:""}}}function pe(){try{return Promise.resolve({text:sessionStorage.getItem(C)??"",values:""})}catch{return Promise.resolve({text:"",values:""})}}function X(t){try{t===""?sessionStorage.removeItem(C):sessionStorage.setItem(C,t)}catch{}}export{xe as RunPage};
