// What an administrator keeps, a tab for each kind.
import type { ComponentType, JSX } from "preact";
import { Heading, Tabs } from "../../parts/parts.tsx";
import { place } from "../../shell/router.ts";
import { NotFoundPage } from "../not_found.tsx";
import { Namespaces, Pools, Quotas } from "./divisions.tsx";
import { BindingRules, Methods, Policies, Roles, Tokens } from "./people.tsx";

const tabs: readonly (readonly [string, ComponentType])[] = [["Namespaces", Namespaces], ["Node pools", Pools], ["Quotas", Quotas], ["Tokens", Tokens], ["Policies", Policies],
  ["Roles", Roles], ["Auth methods", Methods], ["Binding rules", BindingRules]];
const slug = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

export function AccessPage(): JSX.Element {
  const given = place.value.path[1] ?? "namespaces";
  const current = tabs.find(([name]) => slug(name) === given);
  if (!current) return <NotFoundPage />;
  const [name, Kept] = current;
  return <><Heading title="Access">Access</Heading>
    <Tabs label="Access" current={name} tabs={tabs.map(([one]) => ({ name: one, href: `/ui/access/${slug(one)}` }))} />
    <Kept key={name} /></>;
}
