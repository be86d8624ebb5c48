#include "runtime/jobspec/diff_rules.hpp"

namespace nomad::jobspec {

namespace {

using Names = std::string_view;

/// The type of the objects in a member, found in the table of fields.
const BlockType* member_type(const BlockType& owner, std::string_view member) {
  return owner.find(member)->block;
}

const BlockType* member_type(const BlockType& owner,
                             std::string_view member,
                             std::string_view inner) {
  return member_type(*member_type(owner, member), inner);
}

// Placement and policies: plain fields only.
const ObjectRule constraint_rule{&constraint_type};
const ObjectRule affinity_rule{&affinity_type};
const ObjectRule restart_rule{member_type(group_type, "RestartPolicy")};
const ObjectRule reschedule_rule{member_type(group_type, "ReschedulePolicy")};
const ObjectRule disk_rule{member_type(group_type, "EphemeralDisk")};
const ObjectRule consul_rule{member_type(group_type, "Consul")};
constexpr Names update_ignored[] = {"Stagger"};
const ObjectRule update_rule{&update_type, {}, true, update_ignored};
const ObjectRule logs_rule{&logs_type};
const ObjectRule payload_rule{member_type(task_type, "DispatchPayload")};
const ObjectRule identity_rule{member_type(task_type, "Identity")};
const ObjectRule artifact_rule{member_type(task_type, "Artifacts")};

// Networks and resources.
constexpr Names dynamic_port_ignored[] = {"Value"};
const ObjectRule static_port_rule{member_type(network_type, "ReservedPorts")};
const ObjectRule dynamic_port_rule{
    member_type(network_type, "DynamicPorts"), {}, true, dynamic_port_ignored};
const ChildRule network_children[] = {
    {"ReservedPorts", Compare::static_ports, "Static Port", &static_port_rule},
    {"DynamicPorts", Compare::dynamic_ports, "Dynamic Port", &dynamic_port_rule},
    {"DNS", Compare::dns, "DNS"},
};
constexpr Names network_ignored[] = {"Device", "CIDR", "IP"};
const ObjectRule network_rule{&network_type, network_children, true, network_ignored};

constexpr Names by_name[] = {"Name"};
const ObjectRule device_rule{member_type(resources_type, "Devices"), {}, true, {}, by_name};
const ChildRule resources_children[] = {
    {"Networks", Compare::networks, "Network", &network_rule},
    {"Devices", Compare::by_key, "Device", &device_rule},
};
const ObjectRule resources_rule{&resources_type, resources_children};

// Connect.
const BlockType& connect_gateway_type = *member_type(connect_type, "Gateway");
const BlockType& sidecar_type = *member_type(connect_type, "SidecarService");

const ChildRule gateway_proxy_children[] = {
    {"EnvoyGatewayBindAddresses", Compare::addresses, "EnvoyGatewayBindAddresses"},
    {"Config", Compare::free_map, "Config"},
};
const ObjectRule gateway_proxy_rule{member_type(connect_gateway_type, "Proxy"),
                                    gateway_proxy_children};

const ChildRule tls_children[] = {{"CipherSuites", Compare::text_set, "CipherSuites"}};
const ObjectRule tls_rule{member_type(connect_gateway_type, "Ingress", "TLS"), tls_children};
const BlockType& connect_listener_type = *member_type(connect_gateway_type, "Ingress", "Listeners");
const ChildRule ingress_service_children[] = {{"Hosts", Compare::text_set, "Hosts"}};
const ObjectRule ingress_service_rule{
    member_type(connect_listener_type, "Services"), ingress_service_children, true, {}, by_name};
const ChildRule listener_children[] = {
    {"Services", Compare::by_key, "ConsulIngressService", &ingress_service_rule},
};
constexpr Names by_protocol_and_port[] = {"Protocol", "Port"};
const ObjectRule listener_rule{
    &connect_listener_type, listener_children, true, {}, by_protocol_and_port};
const ChildRule ingress_children[] = {
    {"TLS", Compare::object, "TLS", &tls_rule},
    {"Listeners", Compare::by_key, "Listener", &listener_rule},
};
const ObjectRule ingress_rule{member_type(connect_gateway_type, "Ingress"), ingress_children};

const ObjectRule linked_service_rule{
    member_type(connect_gateway_type, "Terminating", "Services"), {}, true, {}, by_name};
const ChildRule terminating_children[]
    = {{"Services", Compare::by_key, "Service", &linked_service_rule}};
const ObjectRule terminating_rule{member_type(connect_gateway_type, "Terminating"),
                                  terminating_children};
const ObjectRule mesh_rule{member_type(connect_gateway_type, "Mesh")};

const ChildRule gateway_children[] = {
    {"Proxy", Compare::object, "Proxy", &gateway_proxy_rule},
    {"Ingress", Compare::object, "Ingress", &ingress_rule},
    {"Terminating", Compare::object, "Terminating", &terminating_rule},
    {"Mesh", Compare::object, "Mesh", &mesh_rule},
};
const ObjectRule gateway_rule{&connect_gateway_type, gateway_children};

const BlockType& connect_proxy_type = *member_type(sidecar_type, "Proxy");
const ObjectRule mesh_gateway_rule{member_type(connect_proxy_type, "Upstreams", "MeshGateway")};
const ChildRule upstream_children[] = {
    {"MeshGateway", Compare::fields, "MeshGateway", &mesh_gateway_rule},
};
const ObjectRule upstream_rule{member_type(connect_proxy_type, "Upstreams"), upstream_children};
const ChildRule proxy_children[] = {
    {"Upstreams", Compare::upstreams, "ConsulUpstreams", &upstream_rule},
    {"Config", Compare::free_map, "Config"},
};
const ObjectRule proxy_rule{&connect_proxy_type, proxy_children};
const ChildRule sidecar_children[] = {{"Proxy", Compare::object, "ConsulProxy", &proxy_rule}};
const ObjectRule sidecar_rule{&sidecar_type, sidecar_children};

const ChildRule sidecar_task_children[] = {
    {"Config", Compare::free_map, "Config"},
    {"Resources", Compare::object, "Resources", &resources_rule},
    {"LogConfig", Compare::fields, "LogConfig", &logs_rule},
};
const ObjectRule sidecar_task_rule{member_type(connect_type, "SidecarTask"), sidecar_task_children,
                                   false};

const ChildRule connect_children[] = {
    {"SidecarService", Compare::object, "SidecarService", &sidecar_rule},
    {"SidecarTask", Compare::object, "SidecarTask", &sidecar_task_rule},
    {"Gateway", Compare::object, "Gateway", &gateway_rule},
};
const ObjectRule connect_rule{&connect_type, connect_children};

// Services.
const ObjectRule check_restart_rule{member_type(check_type, "CheckRestart")};
const ChildRule check_children[] = {
    {"Header", Compare::header, "Header"},
    {"CheckRestart", Compare::object, "CheckRestart", &check_restart_rule},
};
const ObjectRule check_rule{&check_type, check_children, true, {}, by_name};
const ChildRule service_children[] = {
    {"CanaryTags", Compare::text_set, "CanaryTags"},
    {"Tags", Compare::text_set, "Tags"},
    {"Checks", Compare::by_key, "Check", &check_rule},
    {"Connect", Compare::object, "ConsulConnect", &connect_rule},
};
const ObjectRule service_rule{&service_type, service_children};

// Tasks.
const ChildRule vault_children[] = {{"Policies", Compare::text_set, "Policies"}};
const ObjectRule vault_rule{&vault_type, vault_children};
const ChildRule change_script_children[] = {{"Args", Compare::text_set, "Args"}};
const ObjectRule change_script_rule{member_type(template_type, "ChangeScript"),
                                    change_script_children};
const ObjectRule wait_rule{member_type(template_type, "Wait")};
const ChildRule template_children[] = {
    {"Wait", Compare::wait, "Template", &wait_rule},
    {"ChangeScript", Compare::object, "ChangeScript", &change_script_rule},
};
const ObjectRule template_rule{&template_type, template_children};

const ChildRule task_children[] = {
    {"Constraints", Compare::field_set, "Constraint", &constraint_rule},
    {"Affinities", Compare::field_set, "Affinity", &affinity_rule},
    {"Config", Compare::free_map, "Config"},
    {"Resources", Compare::object, "Resources", &resources_rule},
    {"LogConfig", Compare::fields, "LogConfig", &logs_rule},
    {"DispatchPayload", Compare::fields, "DispatchPayload", &payload_rule},
    {"Artifacts", Compare::artifact_set, "Artifact", &artifact_rule},
    {"Services", Compare::services, "Service", &service_rule},
    {"Vault", Compare::object, "Vault", &vault_rule},
    {"Templates", Compare::templates, "Template", &template_rule},
    {"Identity", Compare::object, "Identity", &identity_rule},
};
constexpr Names task_ignored[] = {"Name"};

// Groups.
const ChildRule scaling_children[] = {{"Policy", Compare::quiet_free_map, "Policy"}};
constexpr Names scaling_ignored[]
    = {"CreateIndex",   "ModifyIndex",      "ID", "Type", "Target[Job]",
       "Target[Group]", "Target[Namespace]"};
const ObjectRule scaling_rule{&scaling_type, scaling_children, false, scaling_ignored};
const ChildRule mount_options_children[] = {{"MountFlags", Compare::text_set, "MountFlags"}};
const ObjectRule mount_options_rule{member_type(volume_type, "MountOptions"),
                                    mount_options_children};
const ChildRule volume_children[] = {
    {"MountOptions", Compare::object, "MountOptions", &mount_options_rule},
};
const ObjectRule volume_rule{&volume_type, volume_children};

const ChildRule group_children[] = {
    {"Constraints", Compare::field_set, "Constraint", &constraint_rule},
    {"Affinities", Compare::field_set, "Affinity", &affinity_rule},
    {"RestartPolicy", Compare::fields, "RestartPolicy", &restart_rule},
    {"ReschedulePolicy", Compare::fields, "ReschedulePolicy", &reschedule_rule},
    {"EphemeralDisk", Compare::fields, "EphemeralDisk", &disk_rule},
    {"Consul", Compare::fields, "Consul", &consul_rule},
    {"Update", Compare::fields, "Update", &update_rule},
    {"Networks", Compare::networks, "Network", &network_rule},
    {"Scaling", Compare::object, "Scaling", &scaling_rule},
    {"Services", Compare::services, "Service", &service_rule},
    {"Volumes", Compare::by_key, "Volume", &volume_rule},
};
constexpr Names group_ignored[] = {"Name"};

// Jobs.
const ChildRule periodic_children[] = {{"Specs", Compare::changed_text_set, "Specs"}};
const ObjectRule periodic_rule{member_type(job_type, "Periodic"), periodic_children};
const ChildRule parameterized_children[] = {
    {"MetaOptional", Compare::text_set, "MetaOptional"},
    {"MetaRequired", Compare::text_set, "MetaRequired"},
};
const ObjectRule parameterized_rule{member_type(job_type, "ParameterizedJob"),
                                    parameterized_children};
const ObjectRule strategy_rule{member_type(job_type, "Multiregion", "Strategy")};
const ChildRule region_children[] = {{"Datacenters", Compare::changed_text_set, "Datacenters"}};
const ObjectRule region_rule{
    member_type(job_type, "Multiregion", "Regions"), region_children, true, {}, by_name};
const ChildRule multiregion_children[] = {
    {"Regions", Compare::regions, "Region", &region_rule},
    {"Strategy", Compare::fields_or_zero, "Strategy", &strategy_rule},
};
const ObjectRule multiregion_rule{member_type(job_type, "Multiregion"), multiregion_children};

const ChildRule job_children[] = {
    {"Datacenters", Compare::changed_text_set, "Datacenters"},
    {"Constraints", Compare::field_set, "Constraint", &constraint_rule},
    {"Affinities", Compare::field_set, "Affinity", &affinity_rule},
    {"Periodic", Compare::object, "Periodic", &periodic_rule},
    {"ParameterizedJob", Compare::object, "ParameterizedJob", &parameterized_rule},
    {"Multiregion", Compare::object, "Multiregion", &multiregion_rule},
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
