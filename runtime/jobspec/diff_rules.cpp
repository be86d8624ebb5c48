#include "runtime/jobspec/diff_rules.hpp"

namespace nomad::jobspec {

namespace {

using enum Compare;
using Names = std::string_view;

/// The type of the objects in a member, found in the table of fields.
const BlockType* type_of(const BlockType& owner, std::string_view member) {
  return owner.find(member)->block;
}

const BlockType* type_of(const BlockType& owner, std::string_view member, std::string_view inner) {
  return type_of(*type_of(owner, member), inner);
}

// Placement and policies: plain fields only.
const ObjectRule constraint_rule{&constraint_type};
const ObjectRule affinity_rule{&affinity_type};
const ObjectRule restart_rule{type_of(group_type, "RestartPolicy")};
const ObjectRule reschedule_rule{type_of(group_type, "ReschedulePolicy")};
const ObjectRule disk_rule{type_of(group_type, "EphemeralDisk")};
const ObjectRule consul_rule{type_of(group_type, "Consul")};
constexpr Names update_ignored[] = {"Stagger"};
const ObjectRule update_rule{&update_type, {}, true, update_ignored};
const ObjectRule logs_rule{&logs_type};
const ObjectRule payload_rule{type_of(task_type, "DispatchPayload")};
const ObjectRule identity_rule{type_of(task_type, "Identity")};
const ObjectRule artifact_rule{type_of(task_type, "Artifacts")};

// Networks and resources.
constexpr Names dynamic_port_ignored[] = {"Value"};
const ObjectRule static_port_rule{type_of(network_type, "ReservedPorts")};
const ObjectRule dynamic_port_rule{
    type_of(network_type, "DynamicPorts"), {}, true, dynamic_port_ignored};
const ChildRule network_children[] = {
    {"ReservedPorts", static_ports, "Static Port", &static_port_rule},
    {"DynamicPorts", dynamic_ports, "Dynamic Port", &dynamic_port_rule},
    {"DNS", dns, "DNS"},
};
constexpr Names network_ignored[] = {"Device", "CIDR", "IP"};
const ObjectRule network_rule{&network_type, network_children, true, network_ignored};

constexpr Names by_name[] = {"Name"};
const ObjectRule device_rule{type_of(resources_type, "Devices"), {}, true, {}, by_name};
const ChildRule resources_children[] = {
    {"Networks", networks, "Network", &network_rule},
    {"Devices", by_key, "Device", &device_rule},
};
const ObjectRule resources_rule{&resources_type, resources_children};

// Connect.
const BlockType& gateway_type = *type_of(connect_type, "Gateway");
const BlockType& sidecar_type = *type_of(connect_type, "SidecarService");

const ChildRule gateway_proxy_children[] = {
    {"EnvoyGatewayBindAddresses", addresses, "EnvoyGatewayBindAddresses"},
    {"Config", free_map, "Config"},
};
const ObjectRule gateway_proxy_rule{type_of(gateway_type, "Proxy"), gateway_proxy_children};

const ChildRule tls_children[] = {{"CipherSuites", text_set, "CipherSuites"}};
const ObjectRule tls_rule{type_of(gateway_type, "Ingress", "TLS"), tls_children};
const BlockType& listener_type = *type_of(gateway_type, "Ingress", "Listeners");
const ChildRule ingress_service_children[] = {{"Hosts", text_set, "Hosts"}};
const ObjectRule ingress_service_rule{
    type_of(listener_type, "Services"), ingress_service_children, true, {}, by_name};
const ChildRule listener_children[] = {
    {"Services", by_key, "ConsulIngressService", &ingress_service_rule},
};
constexpr Names by_protocol_and_port[] = {"Protocol", "Port"};
const ObjectRule listener_rule{&listener_type, listener_children, true, {}, by_protocol_and_port};
const ChildRule ingress_children[] = {
    {"TLS", object, "TLS", &tls_rule},
    {"Listeners", by_key, "Listener", &listener_rule},
};
const ObjectRule ingress_rule{type_of(gateway_type, "Ingress"), ingress_children};

const ObjectRule linked_service_rule{
    type_of(gateway_type, "Terminating", "Services"), {}, true, {}, by_name};
const ChildRule terminating_children[] = {{"Services", by_key, "Service", &linked_service_rule}};
const ObjectRule terminating_rule{type_of(gateway_type, "Terminating"), terminating_children};
const ObjectRule mesh_rule{type_of(gateway_type, "Mesh")};

const ChildRule gateway_children[] = {
    {"Proxy", object, "Proxy", &gateway_proxy_rule},
    {"Ingress", object, "Ingress", &ingress_rule},
    {"Terminating", object, "Terminating", &terminating_rule},
    {"Mesh", object, "Mesh", &mesh_rule},
};
const ObjectRule gateway_rule{&gateway_type, gateway_children};

const BlockType& proxy_type = *type_of(sidecar_type, "Proxy");
const ObjectRule mesh_gateway_rule{type_of(proxy_type, "Upstreams", "MeshGateway")};
const ChildRule upstream_children[] = {
    {"MeshGateway", fields, "MeshGateway", &mesh_gateway_rule},
};
const ObjectRule upstream_rule{type_of(proxy_type, "Upstreams"), upstream_children};
const ChildRule proxy_children[] = {
    {"Upstreams", upstreams, "ConsulUpstreams", &upstream_rule},
    {"Config", free_map, "Config"},
};
const ObjectRule proxy_rule{&proxy_type, proxy_children};
const ChildRule sidecar_children[] = {{"Proxy", object, "ConsulProxy", &proxy_rule}};
const ObjectRule sidecar_rule{&sidecar_type, sidecar_children};

const ChildRule sidecar_task_children[] = {
    {"Config", free_map, "Config"},
    {"Resources", object, "Resources", &resources_rule},
    {"LogConfig", fields, "LogConfig", &logs_rule},
};
const ObjectRule sidecar_task_rule{type_of(connect_type, "SidecarTask"), sidecar_task_children,
                                   false};

const ChildRule connect_children[] = {
    {"SidecarService", object, "SidecarService", &sidecar_rule},
    {"SidecarTask", object, "SidecarTask", &sidecar_task_rule},
    {"Gateway", object, "Gateway", &gateway_rule},
};
const ObjectRule connect_rule{&connect_type, connect_children};

// Services.
const ObjectRule check_restart_rule{type_of(check_type, "CheckRestart")};
const ChildRule check_children[] = {
    {"Header", header, "Header"},
    {"CheckRestart", object, "CheckRestart", &check_restart_rule},
};
const ObjectRule check_rule{&check_type, check_children, true, {}, by_name};
const ChildRule service_children[] = {
    {"CanaryTags", text_set, "CanaryTags"},
    {"Tags", text_set, "Tags"},
    {"Checks", by_key, "Check", &check_rule},
    {"Connect", object, "ConsulConnect", &connect_rule},
};
const ObjectRule service_rule{&service_type, service_children};

// Tasks.
const ChildRule vault_children[] = {{"Policies", text_set, "Policies"}};
const ObjectRule vault_rule{&vault_type, vault_children};
const ChildRule change_script_children[] = {{"Args", text_set, "Args"}};
const ObjectRule change_script_rule{type_of(template_type, "ChangeScript"), change_script_children};
const ObjectRule wait_rule{type_of(template_type, "Wait")};
const ChildRule template_children[] = {
    {"Wait", wait, "Template", &wait_rule},
    {"ChangeScript", object, "ChangeScript", &change_script_rule},
};
const ObjectRule template_rule{&template_type, template_children};

const ChildRule task_children[] = {
    {"Constraints", field_set, "Constraint", &constraint_rule},
    {"Affinities", field_set, "Affinity", &affinity_rule},
    {"Config", free_map, "Config"},
    {"Resources", object, "Resources", &resources_rule},
    {"LogConfig", fields, "LogConfig", &logs_rule},
    {"DispatchPayload", fields, "DispatchPayload", &payload_rule},
    {"Artifacts", artifact_set, "Artifact", &artifact_rule},
    {"Services", services, "Service", &service_rule},
    {"Vault", object, "Vault", &vault_rule},
    {"Templates", templates, "Template", &template_rule},
    {"Identity", object, "Identity", &identity_rule},
};
constexpr Names task_ignored[] = {"Name"};

// Groups.
const ChildRule scaling_children[] = {{"Policy", quiet_free_map, "Policy"}};
constexpr Names scaling_ignored[]
    = {"CreateIndex",   "ModifyIndex",      "ID", "Type", "Target[Job]",
       "Target[Group]", "Target[Namespace]"};
const ObjectRule scaling_rule{&scaling_type, scaling_children, false, scaling_ignored};
const ChildRule mount_options_children[] = {{"MountFlags", text_set, "MountFlags"}};
const ObjectRule mount_options_rule{type_of(volume_type, "MountOptions"), mount_options_children};
const ChildRule volume_children[] = {
    {"MountOptions", object, "MountOptions", &mount_options_rule},
};
const ObjectRule volume_rule{&volume_type, volume_children};

const ChildRule group_children[] = {
    {"Constraints", field_set, "Constraint", &constraint_rule},
    {"Affinities", field_set, "Affinity", &affinity_rule},
    {"RestartPolicy", fields, "RestartPolicy", &restart_rule},
    {"ReschedulePolicy", fields, "ReschedulePolicy", &reschedule_rule},
    {"EphemeralDisk", fields, "EphemeralDisk", &disk_rule},
    {"Consul", fields, "Consul", &consul_rule},
    {"Update", fields, "Update", &update_rule},
    {"Networks", networks, "Network", &network_rule},
    {"Scaling", object, "Scaling", &scaling_rule},
    {"Services", services, "Service", &service_rule},
    {"Volumes", by_key, "Volume", &volume_rule},
};
constexpr Names group_ignored[] = {"Name"};

// Jobs.
const ChildRule periodic_children[] = {{"Specs", changed_text_set, "Specs"}};
const ObjectRule periodic_rule{type_of(job_type, "Periodic"), periodic_children};
const ChildRule parameterized_children[] = {
    {"MetaOptional", text_set, "MetaOptional"},
    {"MetaRequired", text_set, "MetaRequired"},
};
const ObjectRule parameterized_rule{type_of(job_type, "ParameterizedJob"), parameterized_children};
const ObjectRule strategy_rule{type_of(job_type, "Multiregion", "Strategy")};
const ChildRule region_children[] = {{"Datacenters", changed_text_set, "Datacenters"}};
const ObjectRule region_rule{
    type_of(job_type, "Multiregion", "Regions"), region_children, true, {}, by_name};
const ChildRule multiregion_children[] = {
    {"Regions", regions, "Region", &region_rule},
    {"Strategy", fields_or_zero, "Strategy", &strategy_rule},
};
const ObjectRule multiregion_rule{type_of(job_type, "Multiregion"), multiregion_children};

const ChildRule job_children[] = {
    {"Datacenters", changed_text_set, "Datacenters"},
    {"Constraints", field_set, "Constraint", &constraint_rule},
    {"Affinities", field_set, "Affinity", &affinity_rule},
    {"Periodic", object, "Periodic", &periodic_rule},
    {"ParameterizedJob", object, "ParameterizedJob", &parameterized_rule},
    {"Multiregion", object, "Multiregion", &multiregion_rule},
};
constexpr Names job_ignored[]
    = {"ID",         "Status",       "StatusDescription", "Version",
       "Stable",     "CreateIndex",  "ModifyIndex",       "JobModifyIndex",
       "SubmitTime", "NomadTokenID", "VaultToken"};

}  // namespace

const ObjectRule job_rule{&job_type, job_children, false, job_ignored};
const ObjectRule group_rule{&group_type, group_children, false, group_ignored};
const ObjectRule task_rule{&task_type, task_children, false, task_ignored};

}  // namespace nomad::jobspec
