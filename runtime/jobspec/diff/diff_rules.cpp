#include "runtime/jobspec/diff/diff_rules.hpp"

namespace nomad::jobspec {

namespace {

using Names = std::string_view;

/// Objects of plain fields only.
constexpr ObjectRule plain_rule{};

constexpr Names update_ignored[] = {"Stagger"};
constexpr ObjectRule update_rule{{}, true, update_ignored};

// Networks and resources.
constexpr Names dynamic_port_ignored[] = {"Value", "IgnoreCollision"};
constexpr ObjectRule dynamic_port_rule{{}, true, dynamic_port_ignored};
constexpr ChildRule network_children[] = {
    {"ReservedPorts", Compare::static_ports, "Static Port", &plain_rule},
    {"DynamicPorts", Compare::dynamic_ports, "Dynamic Port", &dynamic_port_rule},
    {"DNS", Compare::dns, "DNS"},
};
constexpr Names network_ignored[] = {"Device", "CIDR", "IP"};
constexpr ObjectRule network_rule{network_children, true, network_ignored};

constexpr Names by_name[] = {"Name"};
constexpr ObjectRule device_rule{{}, true, {}, by_name};
constexpr ChildRule resources_children[] = {
    {"Networks", Compare::networks, "Network", &network_rule},
    {"Devices", Compare::by_key, "Device", &device_rule},
};
constexpr ObjectRule resources_rule{resources_children};

// Connect.
constexpr ChildRule gateway_proxy_children[] = {
    {"EnvoyGatewayBindAddresses", Compare::addresses, "EnvoyGatewayBindAddresses"},
    {"Config", Compare::free_map, "Config"},
};
constexpr ObjectRule gateway_proxy_rule{gateway_proxy_children};

constexpr ChildRule tls_children[] = {{"CipherSuites", Compare::text_set, "CipherSuites"}};
constexpr ObjectRule tls_rule{tls_children};
constexpr ChildRule ingress_service_children[] = {{"Hosts", Compare::text_set, "Hosts"}};
constexpr ObjectRule ingress_service_rule{ingress_service_children, true, {}, by_name};
constexpr ChildRule listener_children[] = {
    {"Services", Compare::by_key, "ConsulIngressService", &ingress_service_rule},
};
constexpr Names by_protocol_and_port[] = {"Protocol", "Port"};
constexpr ObjectRule listener_rule{listener_children, true, {}, by_protocol_and_port};
constexpr ChildRule ingress_children[] = {
    {"TLS", Compare::object, "TLS", &tls_rule},
    {"Listeners", Compare::by_key, "Listener", &listener_rule},
};
constexpr ObjectRule ingress_rule{ingress_children};

constexpr ObjectRule linked_service_rule{{}, true, {}, by_name};
constexpr ChildRule terminating_children[]
    = {{"Services", Compare::by_key, "Service", &linked_service_rule}};
constexpr ObjectRule terminating_rule{terminating_children};

constexpr ChildRule gateway_children[] = {
    {"Proxy", Compare::object, "Proxy", &gateway_proxy_rule},
    {"Ingress", Compare::object, "Ingress", &ingress_rule},
    {"Terminating", Compare::object, "Terminating", &terminating_rule},
    {"Mesh", Compare::object, "Mesh", &plain_rule},
};
constexpr ObjectRule gateway_rule{gateway_children};

constexpr ChildRule upstream_children[] = {
    {"MeshGateway", Compare::fields, "MeshGateway", &plain_rule},
};
constexpr ObjectRule upstream_rule{upstream_children};
constexpr ChildRule proxy_children[] = {
    {"Upstreams", Compare::upstreams, "ConsulUpstreams", &upstream_rule},
    {"Config", Compare::free_map, "Config"},
};
constexpr ObjectRule proxy_rule{proxy_children};
constexpr ChildRule sidecar_children[] = {{"Proxy", Compare::object, "ConsulProxy", &proxy_rule}};
constexpr ObjectRule sidecar_rule{sidecar_children};

constexpr ChildRule sidecar_task_children[] = {
    {"Config", Compare::free_map, "Config"},
    {"Resources", Compare::object, "Resources", &resources_rule},
    {"LogConfig", Compare::fields, "LogConfig", &plain_rule},
};
constexpr ObjectRule sidecar_task_rule{sidecar_task_children, false};

constexpr ChildRule connect_children[] = {
    {"SidecarService", Compare::object, "SidecarService", &sidecar_rule},
    {"SidecarTask", Compare::object, "SidecarTask", &sidecar_task_rule},
    {"Gateway", Compare::object, "Gateway", &gateway_rule},
};
constexpr ObjectRule connect_rule{connect_children};

// Services.
constexpr ChildRule check_children[] = {
    {"Header", Compare::header, "Header"},
    {"CheckRestart", Compare::object, "CheckRestart", &plain_rule},
};
constexpr ObjectRule check_rule{check_children, true, {}, by_name};
constexpr ChildRule identity_children[] = {{"Audience", Compare::text_set, "Audience"}};
constexpr ObjectRule identity_rule{identity_children};
constexpr ObjectRule named_identity_rule{identity_children, true, {}, by_name};
constexpr ChildRule service_children[] = {
    {"CanaryTags", Compare::text_set, "CanaryTags"},
    {"Tags", Compare::text_set, "Tags"},
    {"Checks", Compare::by_key, "Check", &check_rule},
    {"Connect", Compare::object, "ConsulConnect", &connect_rule},
    {"Identity", Compare::object, "Identity", &identity_rule},
};
constexpr ObjectRule service_rule{service_children};

// Tasks.
constexpr ChildRule vault_children[] = {{"Policies", Compare::text_set, "Policies"}};
constexpr ObjectRule vault_rule{vault_children};
constexpr ChildRule change_script_children[] = {{"Args", Compare::text_set, "Args"}};
constexpr ObjectRule change_script_rule{change_script_children};
constexpr ChildRule template_children[] = {
    {"Wait", Compare::wait, "Template", &plain_rule},
    {"ChangeScript", Compare::object, "ChangeScript", &change_script_rule},
};
constexpr ObjectRule template_rule{template_children};

constexpr ChildRule action_children[] = {{"Args", Compare::text_set, "Args"}};
constexpr ObjectRule action_rule{action_children};

constexpr ChildRule schedule_children[] = {{"Cron", Compare::fields, "Schedule", &plain_rule}};
constexpr ObjectRule schedule_rule{schedule_children};

constexpr ChildRule task_children[] = {
    {"Constraints", Compare::field_set, "Constraint", &plain_rule},
    {"Affinities", Compare::field_set, "Affinity", &plain_rule},
    {"Config", Compare::free_map, "Config"},
    {"Resources", Compare::object, "Resources", &resources_rule},
    {"LogConfig", Compare::fields, "LogConfig", &plain_rule},
    {"DispatchPayload", Compare::fields, "DispatchPayload", &plain_rule},
    {"Artifacts", Compare::artifact_set, "Artifact", &plain_rule},
    {"Services", Compare::services, "Service", &service_rule},
    {"Vault", Compare::object, "Vault", &vault_rule},
    {"Templates", Compare::templates, "Template", &template_rule},
    {"Identity", Compare::object, "Identity", &identity_rule},
    {"Identities", Compare::by_key, "Identity", &named_identity_rule},
    {"Actions", Compare::in_order, "Action", &action_rule},
    {"Schedule", Compare::schedule, "Schedule", &schedule_rule},
};
constexpr Names task_ignored[] = {"Name"};

// Groups.
constexpr ChildRule scaling_children[] = {{"Policy", Compare::quiet_free_map, "Policy"}};
constexpr Names scaling_ignored[]
    = {"CreateIndex",   "ModifyIndex",      "ID", "Type", "Target[Job]",
       "Target[Group]", "Target[Namespace]"};
constexpr ObjectRule scaling_rule{scaling_children, false, scaling_ignored};
constexpr ChildRule mount_options_children[] = {{"MountFlags", Compare::text_set, "MountFlags"}};
constexpr ObjectRule mount_options_rule{mount_options_children};
constexpr ChildRule volume_children[] = {
    {"MountOptions", Compare::object, "MountOptions", &mount_options_rule},
};
constexpr ObjectRule volume_rule{volume_children};

constexpr ObjectRule disconnect_rule{.shows_nullable = true};
constexpr ChildRule group_children[] = {
    {"Constraints", Compare::field_set, "Constraint", &plain_rule},
    {"Affinities", Compare::field_set, "Affinity", &plain_rule},
    {"RestartPolicy", Compare::fields, "RestartPolicy", &plain_rule},
    {"ReschedulePolicy", Compare::fields, "ReschedulePolicy", &plain_rule},
    {"EphemeralDisk", Compare::fields, "EphemeralDisk", &plain_rule},
    {"Consul", Compare::fields, "Consul", &plain_rule},
    {"Update", Compare::fields, "Update", &update_rule},
    {"Migrate", Compare::fields, "Migrate", &plain_rule, true},
    {"Disconnect", Compare::object, "Disconnect", &disconnect_rule},
    {"Networks", Compare::networks, "Network", &network_rule},
    {"Scaling", Compare::object, "Scaling", &scaling_rule},
    {"Services", Compare::services, "Service", &service_rule},
    {"Volumes", Compare::by_key, "Volume", &volume_rule},
};
constexpr Names group_ignored[] = {"Name"};

// Jobs.
constexpr ChildRule periodic_children[] = {{"Specs", Compare::changed_text_set, "Specs"}};
constexpr ObjectRule periodic_rule{periodic_children};
constexpr ChildRule parameterized_children[] = {
    {"MetaOptional", Compare::text_set, "MetaOptional"},
    {"MetaRequired", Compare::text_set, "MetaRequired"},
};
constexpr ObjectRule parameterized_rule{parameterized_children};
constexpr ChildRule region_children[] = {{"Datacenters", Compare::changed_text_set, "Datacenters"}};
constexpr ObjectRule region_rule{region_children, true, {}, by_name};
constexpr ChildRule multiregion_children[] = {
    {"Regions", Compare::regions, "Region", &region_rule},
    {"Strategy", Compare::fields_or_zero, "Strategy", &plain_rule},
};
constexpr ObjectRule multiregion_rule{multiregion_children};

constexpr ChildRule ui_children[] = {{"Links", Compare::in_order, "Link", &plain_rule}};
constexpr ObjectRule ui_rule{ui_children};

constexpr ChildRule job_children[] = {
    {"Datacenters", Compare::changed_text_set, "Datacenters"},
    {"Constraints", Compare::field_set, "Constraint", &plain_rule},
    {"Affinities", Compare::field_set, "Affinity", &plain_rule},
    {"Periodic", Compare::object, "Periodic", &periodic_rule},
    {"ParameterizedJob", Compare::object, "ParameterizedJob", &parameterized_rule},
    {"Multiregion", Compare::object, "Multiregion", &multiregion_rule},
    {"UI", Compare::object, "UI", &ui_rule},
};
constexpr Names job_ignored[] = {"ID", "NomadTokenID", "VaultToken"};

}  // namespace

constinit const ObjectRule job_rule{job_children, false, job_ignored};
constinit const ObjectRule group_rule{group_children, false, group_ignored};
constinit const ObjectRule task_rule{task_children, false, task_ignored};

}  // namespace nomad::jobspec
