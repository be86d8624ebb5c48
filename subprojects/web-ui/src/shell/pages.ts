// Which page an address is. Pages are loaded when they are first shown, but for the list of jobs.
import type { ComponentType } from "preact";
import { JobsPage } from "../pages/jobs.tsx";

export interface PageAt {
  name: string;
  load: () => Promise<ComponentType>;
}

const alloc_tabs = new Set(["logs", "files", "events", "raw", "why"]);

const pages: Record<string, () => Promise<ComponentType>> = {
  jobs: () => Promise.resolve(JobsPage),
  run: () => import("../pages/run.tsx").then((page) => page.RunPage),
  job: () => import("../pages/job.tsx").then((page) => page.JobPage),
  allocations: () => import("../pages/allocations.tsx").then((page) => page.AllocationsPage),
  allocation: () => import("../pages/allocation.tsx").then((page) => page.AllocationPage),
  why: () => import("../pages/why.tsx").then((page) => page.WhyPage),
  exec: () => import("../pages/exec.tsx").then((page) => page.ExecPage),
  clients: () => import("../pages/clients.tsx").then((page) => page.ClientsPage),
  client: () => import("../pages/client.tsx").then((page) => page.ClientPage),
  servers: () => import("../pages/servers.tsx").then((page) => page.ServersPage),
  topology: () => import("../pages/topology.tsx").then((page) => page.TopologyPage),
  evaluations: () => import("../pages/evaluations.tsx").then((page) => page.EvaluationsPage),
  evaluation: () => import("../pages/evaluations.tsx").then((page) => page.EvaluationPage),
  services: () => import("../pages/services.tsx").then((page) => page.ServicesPage),
  service: () => import("../pages/services.tsx").then((page) => page.ServicePage),
  variables: () => import("../pages/variables.tsx").then((page) => page.VariablesPage),
  newVariable: () => import("../pages/variables.tsx").then((page) => page.NewVariablePage),
  variable: () => import("../pages/variables.tsx").then((page) => page.VariablePage),
  actors: () => import("../pages/actors.tsx").then((page) => page.ActorsPage),
  access: () => import("../pages/access/access.tsx").then((page) => page.AccessPage),
  settings: () => import("../pages/settings.tsx").then((page) => page.SettingsPage),
  signIn: () => import("../pages/settings.tsx").then((page) => page.SignInPage),
  notFound: () => import("../pages/not_found.tsx").then((page) => page.NotFoundPage),
};

function nameOf(path: string[]): string {
  const [first, second, third, fourth] = path;
  const isList = path.length === 1;
  switch (first ?? "jobs") {
    case "jobs":
      if (path.length <= 1) return "jobs";
      if (second === "run" && path.length === 2) return "run";
      return path.length <= 3 ? "job" : "notFound";  // the third word is a tab or a group
    case "allocations":
      if (isList) return "allocations";
      if (third === "why") return "why";
      return path.length <= 3 || alloc_tabs.has(fourth ?? "") ? "allocation" : "notFound";
    case "exec": return path.length === 4 ? "exec" : "notFound";
    case "clients": return isList ? "clients" : path.length === 2 ? "client" : "notFound";
    case "servers": case "topology": case "actors": return isList ? first ?? "" : "notFound";
    case "access": return path.length <= 2 ? "access" : "notFound";
    case "evaluations": return isList ? "evaluations" : third === "why" ? "why" : path.length === 2 ? "evaluation" : "notFound";
    case "services": return isList ? "services" : path.length === 2 ? "service" : "notFound";
    case "variables":
      if (isList) return "variables";
      if (second === "new") return "newVariable";
      return second === "var" && path.length > 2 ? "variable" : "notFound";
    case "settings": return isList ? "settings" : second === "tokens" ? "signIn" : "notFound";
    default: return "notFound";
  }
}

export function pageOf(path: string[]): PageAt {
  const name = nameOf(path);
  return { name, load: pages[name] ?? (() => Promise.reject(new Error(name))) };
}
