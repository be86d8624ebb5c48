#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

namespace {

using enum Kind;
using enum Trait;

constexpr Field constraint_fields[] = {
    {"LTarget", "attribute", text},
    {"RTarget", "value", text},
    {"Operand", "operator", text},
};

constexpr Field affinity_fields[] = {
    {"LTarget", "attribute", text},
    {"RTarget", "value", text},
    {"Operand", "operator", text},
    {"Weight", "weight", int8, nullable},
};

constexpr Field spread_target_fields[] = {
    {"Value", "", text, label},
    {"Percent", "percent", uint8},
};
constexpr BlockType spread_target_type{"SpreadTarget", spread_target_fields};

constexpr Field spread_fields[] = {
    {"Attribute", "attribute", text},
    {"Weight", "weight", int8, nullable},
    {"SpreadTarget", "target", blocks, nullable, &spread_target_type},
};

constexpr Field update_fields[] = {
    {"Stagger", "stagger", duration, nullable},
    {"MaxParallel", "max_parallel", integer, nullable},
    {"HealthCheck", "health_check", text, nullable},
    {"MinHealthyTime", "min_healthy_time", duration, nullable},
    {"HealthyDeadline", "healthy_deadline", duration, nullable},
    {"ProgressDeadline", "progress_deadline", duration, nullable},
    {"Canary", "canary", integer, nullable},
    {"AutoRevert", "auto_revert", boolean, nullable},
    {"AutoPromote", "auto_promote", boolean, nullable},
};

constexpr Field restart_fields[] = {
    {"Interval", "interval", duration, nullable},
    {"Attempts", "attempts", integer, nullable},
    {"Delay", "delay", duration, nullable},
    {"Mode", "mode", text, nullable},
    {"RenderTemplates", "render_templates", boolean, nullable},
};
constexpr BlockType restart_type{"RestartPolicy", restart_fields};

constexpr Field reschedule_fields[] = {
    {"Attempts", "attempts", integer, nullable},
    {"Interval", "interval", duration, nullable},
    {"Delay", "delay", duration, nullable},
    {"DelayFunction", "delay_function", text, nullable},
    {"MaxDelay", "max_delay", duration, nullable},
    {"Unlimited", "unlimited", boolean, nullable},
};
constexpr BlockType reschedule_type{"ReschedulePolicy", reschedule_fields};

constexpr Field migrate_fields[] = {
    {"MaxParallel", "max_parallel", integer, nullable},
    {"HealthCheck", "health_check", text, nullable},
    {"MinHealthyTime", "min_healthy_time", duration, nullable},
    {"HealthyDeadline", "healthy_deadline", duration, nullable},
};
constexpr BlockType migrate_type{"MigrateStrategy", migrate_fields};

constexpr Field disk_fields[] = {
    {"Sticky", "sticky", boolean, nullable},
    {"Migrate", "migrate", boolean, nullable},
    {"SizeMB", "size", integer, nullable},
};
constexpr BlockType disk_type{"EphemeralDisk", disk_fields};

constexpr Field mount_options_fields[] = {
    {"FSType", "fs_type", text},
    {"MountFlags", "mount_flags", texts, nullable},
};
constexpr BlockType mount_options_type{"CSIMountOptions", mount_options_fields};

constexpr Field volume_fields[] = {
    {"Name", "name", text, label},
    {"Type", "type", text},
    {"Source", "source", text},
    {"ReadOnly", "read_only", boolean},
    {"AccessMode", "access_mode", text},
    {"AttachmentMode", "attachment_mode", text},
    {"MountOptions", "mount_options", block, nullable, &mount_options_type},
    {"PerAlloc", "per_alloc", boolean},
};

constexpr Field dns_fields[] = {
    {"Servers", "servers", texts, nullable},
    {"Searches", "searches", texts, nullable},
    {"Options", "options", texts, nullable},
};
constexpr BlockType dns_type{"DNSConfig", dns_fields};

constexpr Field port_fields[] = {
    {"Label", "", text, label},
    {"Value", "static", integer},
    {"To", "to", integer},
    {"HostNetwork", "host_network", text},
};
constexpr BlockType port_type{"Port", port_fields};

constexpr Field network_fields[] = {
    {"Mode", "mode", text},
    {"Device", "device", text},
    {"CIDR", "cidr", text},
    {"IP", "ip", text},
    {"DNS", "dns", block, nullable, &dns_type},
    {"ReservedPorts", "reserved_ports", blocks, nullable | by_value, &port_type},
    {"DynamicPorts", "port", blocks, nullable | by_value, &port_type},
    {"Hostname", "hostname", text},
    {"MBits", "mbits", integer, nullable},
};

constexpr Field device_fields[] = {
    {"Name", "", text, label},
    {"Count", "count", uint64, nullable},
    {"Constraints", "constraint", blocks, nullable, &constraint_type},
    {"Affinities", "affinity", blocks, nullable, &affinity_type},
};
constexpr BlockType device_type{"RequestedDevice", device_fields};

constexpr Field resources_fields[] = {
    {"CPU", "cpu", integer, nullable},
    {"Cores", "cores", integer, nullable},
    {"MemoryMB", "memory", integer, nullable},
    {"MemoryMaxMB", "memory_max", integer, nullable},
    {"DiskMB", "disk", integer, nullable},
    {"Networks", "network", blocks, nullable, &network_type},
    {"Devices", "device", blocks, nullable, &device_type},
    {"IOPS", "iops", integer, nullable},
};

constexpr Field check_restart_fields[] = {
    {"Limit", "limit", integer},
    {"Grace", "grace", duration, nullable},
    {"IgnoreWarnings", "ignore_warnings", boolean},
};
constexpr BlockType check_restart_type{"CheckRestart", check_restart_fields};

constexpr Field check_fields[] = {
    {"Name", "name", text},
    {"Type", "type", text},
    {"Command", "command", text},
    {"Args", "args", texts, nullable},
    {"Path", "path", text},
    {"Protocol", "protocol", text},
    {"PortLabel", "port", text},
    {"Expose", "expose", boolean},
    {"AddressMode", "address_mode", text},
    {"Advertise", "advertise", text, api_only},
    {"Interval", "interval", duration},
    {"Timeout", "timeout", duration},
    {"InitialStatus", "initial_status", text},
    {"TLSServerName", "tls_server_name", text},
    {"TLSSkipVerify", "tls_skip_verify", boolean},
    {"Header", "header", texts_map, nullable},
    {"Method", "method", text},
    {"CheckRestart", "check_restart", block, nullable, &check_restart_type},
    {"GRPCService", "grpc_service", text},
    {"GRPCUseTLS", "grpc_use_tls", boolean},
    {"TaskName", "task", text},
    {"SuccessBeforePassing", "success_before_passing", integer},
    {"FailuresBeforeCritical", "failures_before_critical", integer},
    {"Body", "body", text},
    {"OnUpdate", "on_update", text},
};

constexpr Field service_fields[] = {
    {"Name", "name", text},
    {"Tags", "tags", texts, nullable},
    {"CanaryTags", "canary_tags", texts, nullable},
    {"EnableTagOverride", "enable_tag_override", boolean},
    {"PortLabel", "port", text},
    {"AddressMode", "address_mode", text},
    {"Address", "address", text},
    {"Checks", "check", blocks, nullable | by_value, &check_type},
    {"CheckRestart", "check_restart", block, nullable | api_only, &check_restart_type},
    {"Connect", "connect", block, nullable, &connect_type},
    {"Meta", "meta", text_map, nullable},
    {"CanaryMeta", "canary_meta", text_map, nullable},
    {"TaggedAddresses", "tagged_addresses", text_map, nullable},
    {"TaskName", "task", text},
    {"OnUpdate", "on_update", text},
    {"Provider", "provider", text},
    {"Namespace", "", text, server_only},
};

constexpr Field scaling_fields[] = {
    {"Min", "min", int64, nullable},
    {"Max", "max", int64, nullable},
    {"Policy", "policy", free_map, nullable},
    {"Enabled", "enabled", boolean, nullable},
    {"Type", "type", text},
    {"ID", "", text},
    {"Namespace", "", text, api_only},
    {"Target", "", text_map, nullable},
    {"CreateIndex", "", uint64},
    {"ModifyIndex", "", uint64},
};

constexpr Field vault_fields[] = {
    {"Policies", "policies", texts, nullable},
    {"Namespace", "namespace", text, nullable},
    {"Env", "env", boolean, nullable},
    {"DisableFile", "disable_file", boolean, nullable},
    {"ChangeMode", "change_mode", text, nullable},
    {"ChangeSignal", "change_signal", text, nullable},
};

constexpr Field wait_fields[] = {
    {"Min", "min", duration, nullable | pointer},
    {"Max", "max", duration, nullable | pointer},
};
constexpr BlockType wait_type{"WaitConfig", wait_fields};

constexpr Field change_script_fields[] = {
    {"Command", "command", text, nullable},
    {"Args", "args", texts, nullable},
    {"Timeout", "timeout", duration, nullable},
    {"FailOnError", "fail_on_error", boolean, nullable},
};
constexpr BlockType change_script_type{"ChangeScript", change_script_fields};

constexpr Field template_fields[] = {
    {"SourcePath", "source", text, nullable},
    {"DestPath", "destination", text, nullable},
    {"EmbeddedTmpl", "data", text, nullable},
    {"ChangeMode", "change_mode", text, nullable},
    {"ChangeScript", "change_script", block, nullable, &change_script_type},
    {"ChangeSignal", "change_signal", text, nullable},
    {"Splay", "splay", duration, nullable},
    {"Perms", "perms", text, nullable},
    {"Uid", "uid", integer, nullable | pointer},
    {"Gid", "gid", integer, nullable | pointer},
    {"LeftDelim", "left_delimiter", text, nullable},
    {"RightDelim", "right_delimiter", text, nullable},
    {"Envvars", "env", boolean, nullable},
    {"VaultGrace", "vault_grace", duration, nullable},
    {"Wait", "wait", block, nullable, &wait_type},
    {"ErrMissingKey", "error_on_missing_key", boolean, nullable},
};

constexpr Field artifact_fields[] = {
    {"GetterSource", "source", text, nullable},
    {"GetterOptions", "options", text_map, nullable},
    {"GetterHeaders", "headers", text_map, nullable},
    {"GetterMode", "mode", text, nullable},
    {"RelativeDest", "destination", text, nullable},
};
constexpr BlockType artifact_type{"TaskArtifact", artifact_fields};

constexpr Field logs_fields[] = {
    {"MaxFiles", "max_files", integer, nullable},
    {"MaxFileSizeMB", "max_file_size", integer, nullable},
    {"Enabled", "enabled", boolean, nullable | api_only},
    {"Disabled", "disabled", boolean, nullable},
};

constexpr Field dispatch_payload_fields[] = {{"File", "file", text}};
constexpr BlockType dispatch_payload_type{"DispatchPayloadConfig", dispatch_payload_fields};

constexpr Field lifecycle_fields[] = {
    {"Hook", "hook", text},
    {"Sidecar", "sidecar", boolean},
};
constexpr BlockType lifecycle_type{"TaskLifecycle", lifecycle_fields};

constexpr Field volume_mount_fields[] = {
    {"Volume", "volume", text, nullable},
    {"Destination", "destination", text, nullable},
    {"ReadOnly", "read_only", boolean, nullable},
    {"PropagationMode", "propagation_mode", text, nullable},
};
constexpr BlockType volume_mount_type{"VolumeMount", volume_mount_fields};

constexpr Field csi_plugin_fields[] = {
    {"ID", "id", text},
    {"Type", "type", text},
    {"MountDir", "mount_dir", text},
    {"StagePublishBaseDir", "stage_publish_base_dir", text},
    {"HealthTimeout", "health_timeout", duration},
};
constexpr BlockType csi_plugin_type{"TaskCSIPluginConfig", csi_plugin_fields};

constexpr Field identity_fields[] = {
    {"Env", "env", boolean},
    {"File", "file", boolean},
};
constexpr BlockType identity_type{"WorkloadIdentity", identity_fields};

constexpr Field task_fields[] = {
    {"Name", "name", text, label},
    {"Driver", "driver", text},
    {"User", "user", text},
    {"Lifecycle", "lifecycle", block, nullable, &lifecycle_type},
    {"Config", "config", free_map, nullable},
    {"Constraints", "constraint", blocks, nullable, &constraint_type},
    {"Affinities", "affinity", blocks, nullable, &affinity_type},
    {"Env", "env", text_map, nullable},
    {"Services", "service", blocks, nullable, &service_type},
    {"Resources", "resources", block, nullable, &resources_type},
    {"RestartPolicy", "restart", block, nullable, &restart_type},
    {"Meta", "meta", text_map, nullable},
    {"KillTimeout", "kill_timeout", duration, nullable},
    {"LogConfig", "logs", block, nullable, &logs_type},
    {"Artifacts", "artifact", blocks, nullable, &artifact_type},
    {"Vault", "vault", block, nullable, &vault_type},
    {"Templates", "template", blocks, nullable, &template_type},
    {"DispatchPayload", "dispatch_payload", block, nullable, &dispatch_payload_type},
    {"VolumeMounts", "volume_mount", blocks, nullable, &volume_mount_type},
    {"CSIPluginConfig", "csi_plugin", block, nullable | optional_key, &csi_plugin_type},
    {"Leader", "leader", boolean},
    {"ShutdownDelay", "shutdown_delay", duration},
    {"KillSignal", "kill_signal", text},
    {"Kind", "kind", text},
    {"ScalingPolicies", "scaling", blocks, nullable, &scaling_type},
    {"Identity", "identity", block, nullable, &identity_type},
};

constexpr Field consul_fields[] = {{"Namespace", "namespace", text}};
constexpr BlockType consul_type{"Consul", consul_fields};

constexpr Field group_fields[] = {
    {"Name", "name", text, nullable | label},
    {"Count", "count", integer, nullable},
    {"Constraints", "constraint", blocks, nullable, &constraint_type},
    {"Affinities", "affinity", blocks, nullable, &affinity_type},
    {"Tasks", "task", blocks, nullable, &task_type},
    {"Spreads", "spread", blocks, nullable, &spread_type},
    {"Volumes", "volume", block_map, nullable, &volume_type},
    {"RestartPolicy", "restart", block, nullable, &restart_type},
    {"ReschedulePolicy", "reschedule", block, nullable, &reschedule_type},
    {"EphemeralDisk", "ephemeral_disk", block, nullable, &disk_type},
    {"Update", "update", block, nullable, &update_type},
    {"Migrate", "migrate", block, nullable, &migrate_type},
    {"Networks", "network", blocks, nullable, &network_type},
    {"Meta", "meta", text_map, nullable},
    {"Services", "service", blocks, nullable, &service_type},
    {"ShutdownDelay", "shutdown_delay", duration, nullable | pointer},
    {"StopAfterClientDisconnect", "stop_after_client_disconnect", duration, nullable | pointer},
    {"MaxClientDisconnect", "max_client_disconnect", duration, nullable | pointer},
    {"Scaling", "scaling", block, nullable, &scaling_type},
    {"Consul", "consul", block, nullable, &consul_type},
};

constexpr Field strategy_fields[] = {
    {"MaxParallel", "max_parallel", integer, nullable},
    {"OnFailure", "on_failure", text, nullable},
};
constexpr BlockType strategy_type{"MultiregionStrategy", strategy_fields};

constexpr Field region_fields[] = {
    {"Name", "", text, label},
    {"Count", "count", integer, nullable},
    {"Datacenters", "datacenters", texts, nullable},
    {"NodePool", "node_pool", text},
    {"Meta", "meta", text_map, nullable},
};
constexpr BlockType region_type{"MultiregionRegion", region_fields};

constexpr Field multiregion_fields[] = {
    {"Strategy", "strategy", block, nullable, &strategy_type},
    {"Regions", "region", blocks, nullable, &region_type},
};

constexpr Field periodic_fields[] = {
    {"Enabled", "enabled", boolean, nullable},
    {"Spec", "cron", text, nullable},
    {"Specs", "crons", texts, nullable},
    {"SpecType", "", text, nullable},
    {"ProhibitOverlap", "prohibit_overlap", boolean, nullable},
    {"TimeZone", "time_zone", text, nullable},
};
constexpr BlockType periodic_type{"PeriodicConfig", periodic_fields};

constexpr Field parameterized_fields[] = {
    {"Payload", "payload", text},
    {"MetaRequired", "meta_required", texts, nullable},
    {"MetaOptional", "meta_optional", texts, nullable},
};
constexpr BlockType parameterized_type{"ParameterizedJobConfig", parameterized_fields};

constexpr Field job_fields[] = {
    {"Region", "region", text, nullable},
    {"Namespace", "namespace", text, nullable},
    {"ID", "id", text, nullable},
    {"Name", "name", text, nullable},
    {"Type", "type", text, nullable},
    {"Priority", "priority", integer, nullable},
    {"AllAtOnce", "all_at_once", boolean, nullable},
    {"Datacenters", "datacenters", texts, nullable},
    {"NodePool", "node_pool", text, nullable},
    {"Constraints", "constraint", blocks, nullable, &constraint_type},
    {"Affinities", "affinity", blocks, nullable, &affinity_type},
    {"TaskGroups", "group", blocks, nullable, &group_type},
    {"Update", "update", block, nullable, &update_type},
    {"Multiregion", "multiregion", block, nullable, &multiregion_type},
    {"Spreads", "spread", blocks, nullable, &spread_type},
    {"Periodic", "periodic", block, nullable, &periodic_type},
    {"ParameterizedJob", "parameterized", block, nullable, &parameterized_type},
    {"Reschedule", "reschedule", block, nullable | api_only, &reschedule_type},
    {"Migrate", "migrate", block, nullable | api_only, &migrate_type},
    {"Meta", "meta", text_map, nullable},
    {"ConsulToken", "consul_token", text, nullable},
    {"VaultToken", "vault_token", text, nullable},
    {"Stop", "", boolean, nullable},
    {"ParentID", "", text, nullable | server_only},
    {"Dispatched", "", boolean, server_only},
    {"DispatchIdempotencyToken", "", text, nullable | server_only},
    {"Payload", "", bytes, nullable},
    {"ConsulNamespace", "", text, nullable | server_only},
    {"VaultNamespace", "", text, nullable},
    {"NomadTokenID", "", text, nullable | server_only},
    {"Status", "", text, nullable | server_only},
    {"StatusDescription", "", text, nullable | server_only},
    {"Stable", "", boolean, nullable | server_only},
    {"Version", "", uint64, nullable | server_only},
    {"SubmitTime", "", int64, nullable | server_only},
    {"CreateIndex", "", uint64, nullable | server_only},
    {"ModifyIndex", "", uint64, nullable | server_only},
    {"JobModifyIndex", "", uint64, nullable | server_only},
};

constexpr bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

}  // namespace

constinit const BlockType constraint_type{"Constraint", constraint_fields, Decoding::constraint};
constinit const BlockType affinity_type{"Affinity", affinity_fields, Decoding::affinity};
constinit const BlockType spread_type{"Spread", spread_fields};
constinit const BlockType update_type{"UpdateStrategy", update_fields};
constinit const BlockType volume_type{"VolumeRequest", volume_fields};
constinit const BlockType network_type{"NetworkResource", network_fields};
constinit const BlockType resources_type{"Resources", resources_fields};
constinit const BlockType check_type{"ServiceCheck", check_fields};
constinit const BlockType service_type{"Service", service_fields};
constinit const BlockType scaling_type{"ScalingPolicy", scaling_fields};
constinit const BlockType vault_type{"Vault", vault_fields};
constinit const BlockType template_type{"Template", template_fields};
constinit const BlockType logs_type{"LogConfig", logs_fields};
constinit const BlockType task_type{"Task", task_fields, Decoding::task};
constinit const BlockType group_type{"TaskGroup", group_fields, Decoding::group};
constinit const BlockType multiregion_type{"Multiregion", multiregion_fields};
constinit const BlockType job_type{"Job", job_fields, Decoding::job};

const Field* BlockType::find(std::string_view json) const {
  for (const Field& field : fields)
    if (field.json == json) return &field;
  return nullptr;
}

const Field* BlockType::find_any_case(std::string_view json) const {
  if (const Field* exact = find(json)) return exact;
  for (const Field& field : fields)
    if (same_letters(field.json, json)) return &field;
  return nullptr;
}

}  // namespace nomad::jobspec
