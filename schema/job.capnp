# Jobs as users hand them in and as the servers keep them, after canonicalization.
# Durations are Int64 nanoseconds.
@0xd5a1c1e3f5b2a903;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".raw;
using import "annotations.capnp".always;
using import "annotations.capnp".secret;
using import "annotations.capnp".durationText;
using Common = import "common.capnp";

struct UpdateStrategy {
  stagger @0 :Int64;
  maxParallel @1 :Int64;
  healthCheck @2 :Text;
  minHealthyTime @3 :Int64;
  healthyDeadline @4 :Int64;
  progressDeadline @5 :Int64;
  autoRevert @6 :Bool;
  autoPromote @7 :Bool;
  canary @8 :Int64;
}

struct PeriodicConfig {
  enabled @0 :Bool;
  spec @1 :Text;
  specs @2 :List(Text);
  specType @3 :Text;
  prohibitOverlap @4 :Bool;
  timeZone @5 :Text;
}

struct ParameterizedJobConfig {
  payload @0 :Text;
  metaRequired @1 :List(Text);
  metaOptional @2 :List(Text);
}

struct RestartPolicy {
  attempts @0 :Int64;
  interval @1 :Int64;
  delay @2 :Int64;
  mode @3 :Text;
  renderTemplates @4 :Bool;
}

struct ReschedulePolicy {
  attempts @0 :Int64;
  interval @1 :Int64;
  delay @2 :Int64;
  delayFunction @3 :Text;
  maxDelay @4 :Int64;
  unlimited @5 :Bool;
}

struct MigrateStrategy {
  maxParallel @0 :Int64;
  healthCheck @1 :Text;
  minHealthyTime @2 :Int64;
  healthyDeadline @3 :Int64;
}

struct EphemeralDisk {
  sticky @0 :Bool;
  sizeMb @1 :Int64 $json("SizeMB");
  migrate @2 :Bool;
}

struct CheckRestart {
  limit @0 :Int64;
  grace @1 :Int64 $durationText;
  ignoreWarnings @2 :Bool;
}

struct ServiceCheck {
  name @0 :Text;
  type @1 :Text;
  command @2 :Text;
  args @3 :List(Text);
  path @4 :Text;
  protocol @5 :Text;
  portLabel @6 :Text;
  expose @7 :Bool;
  addressMode @8 :Text;
  interval @9 :Int64 $durationText;
  timeout @10 :Int64 $durationText;
  initialStatus @11 :Text;
  tlsServerName @12 :Text $json("TLSServerName");
  tlsSkipVerify @13 :Bool $json("TLSSkipVerify");
  method @14 :Text;
  header @15 :List(Common.TextListEntry) $map;
  checkRestart @16 :CheckRestart;
  grpcService @17 :Text $json("GRPCService");
  grpcUseTls @18 :Bool $json("GRPCUseTLS");
  taskName @19 :Text;
  successBeforePassing @20 :Int64;
  failuresBeforeCritical @21 :Int64;
  body @22 :Text;
  onUpdate @23 :Text;
}

struct Service {
  name @0 :Text;
  taskName @1 :Text;
  portLabel @2 :Text;
  addressMode @3 :Text;
  address @4 :Text;
  enableTagOverride @5 :Bool;
  tags @6 :List(Text);
  canaryTags @7 :List(Text);
  checks @8 :List(ServiceCheck);
  connect @9 :Text $raw;
  meta @10 :List(Common.TextEntry) $map;
  canaryMeta @11 :List(Common.TextEntry) $map;
  taggedAddresses @12 :List(Common.TextEntry) $map;
  namespace @13 :Text;
  onUpdate @14 :Text;
  provider @15 :Text;
}

struct MountOptions {
  fsType @0 :Text $json("FSType");
  mountFlags @1 :List(Text);
}

struct VolumeRequest {
  name @0 :Text;
  type @1 :Text;
  source @2 :Text;
  readOnly @3 :Bool;
  accessMode @4 :Text;
  attachmentMode @5 :Text;
  mountOptions @6 :MountOptions;
  perAlloc @7 :Bool;
}

struct VolumeMount {
  volume @0 :Text;
  destination @1 :Text;
  readOnly @2 :Bool;
  propagationMode @3 :Text;
}

struct Lifecycle {
  hook @0 :Text;
  sidecar @1 :Bool;
}

struct LogConfig {
  maxFiles @0 :Int64;
  maxFileSizeMb @1 :Int64 $json("MaxFileSizeMB");
  disabled @2 :Bool;
}

struct ChangeScript {
  command @0 :Text;
  args @1 :List(Text);
  timeout @2 :Int64;
  failOnError @3 :Bool;
}

struct WaitConfig {
  min :union $json("Min") { unset @0 :Void; value @1 :Int64; }
  max :union $json("Max") { unset @2 :Void; value @3 :Int64; }
}

struct Template {
  sourcePath @0 :Text;
  destPath @1 :Text;
  embeddedTmpl @2 :Text;
  changeMode @3 :Text;
  changeSignal @4 :Text;
  changeScript @5 :ChangeScript;
  splay @6 :Int64;
  perms @7 :Text;
  uid :union $json("Uid") { unset @8 :Void; value @9 :Int64; }
  gid :union $json("Gid") { unset @10 :Void; value @11 :Int64; }
  leftDelim @12 :Text;
  rightDelim @13 :Text;
  envvars @14 :Bool;
  vaultGrace @15 :Int64;
  wait @16 :WaitConfig;
  errMissingKey @17 :Bool;
}

struct Vault {
  policies @0 :List(Text);
  namespace @1 :Text;
  env @2 :Bool;
  disableFile @3 :Bool;
  changeMode @4 :Text;
  changeSignal @5 :Text;
}

struct Artifact {
  getterSource @0 :Text;
  getterOptions @1 :List(Common.TextEntry) $map;
  getterHeaders @2 :List(Common.TextEntry) $map;
  getterMode @3 :Text;
  relativeDest @4 :Text;
}

struct DispatchPayload { file @0 :Text; }

struct CsiPluginConfig {
  id @0 :Text $json("ID");
  type @1 :Text;
  mountDir @2 :Text;
  stagePublishBaseDir @3 :Text;
  healthTimeout @4 :Int64;
}

struct Identity {
  env @0 :Bool;
  file @1 :Bool;
}

struct ScalingPolicy {
  id @0 :Text $json("ID");
  type @1 :Text;
  target @2 :List(Common.TextEntry) $map;
  policy @3 :Text $raw;
  min @4 :Int64;
  max @5 :Int64;
  enabled @6 :Bool;
  createIndex @7 :UInt64;
  modifyIndex @8 :UInt64;
}

struct Task {
  name @0 :Text;
  driver @1 :Text;
  user @2 :Text;
  config @3 :Text $raw;
  env @4 :List(Common.TextEntry) $map;
  services @5 :List(Service);
  vault @6 :Vault;
  templates @7 :List(Template);
  constraints @8 :List(Common.Constraint);
  affinities @9 :List(Common.Affinity);
  resources @10 :Common.Resources;
  restartPolicy @11 :RestartPolicy;
  dispatchPayload @12 :DispatchPayload;
  lifecycle @13 :Lifecycle;
  meta @14 :List(Common.TextEntry) $map;
  killTimeout @15 :Int64;
  logConfig @16 :LogConfig;
  artifacts @17 :List(Artifact);
  leader @18 :Bool;
  shutdownDelay @19 :Int64;
  volumeMounts @20 :List(VolumeMount);
  scalingPolicies @21 :List(ScalingPolicy);
  killSignal @22 :Text;
  kind @23 :Text;
  csiPluginConfig @24 :CsiPluginConfig $json("CSIPluginConfig");
  identity @25 :Identity;
}

struct Consul { namespace @0 :Text; }

struct TaskGroup {
  name @0 :Text;
  count @1 :Int64;
  update @2 :UpdateStrategy;
  migrate @3 :MigrateStrategy;
  constraints @4 :List(Common.Constraint);
  scaling @5 :ScalingPolicy;
  restartPolicy @6 :RestartPolicy;
  tasks @7 :List(Task);
  ephemeralDisk @8 :EphemeralDisk;
  meta @9 :List(Common.TextEntry) $map;
  reschedulePolicy @10 :ReschedulePolicy;
  affinities @11 :List(Common.Affinity);
  spreads @12 :List(Common.Spread);
  networks @13 :List(Common.NetworkResource);
  consul @14 :Consul;
  services @15 :List(Service);
  volumes @16 :List(VolumeEntry) $map;
  shutdownDelay :union $json("ShutdownDelay") { unset @17 :Void; value @18 :Int64; }
  stopAfterClientDisconnect :union $json("StopAfterClientDisconnect") {
    unset @19 :Void;
    value @20 :Int64;
  }
  maxClientDisconnect :union $json("MaxClientDisconnect") { unset @21 :Void; value @22 :Int64; }

  struct VolumeEntry { key @0 :Text; value @1 :VolumeRequest; }
}

struct Job {
  id @0 :Text $json("ID");
  name @1 :Text;
  namespace @2 :Text;
  region @3 :Text;
  type @4 :Text;
  priority @5 :Int64;
  allAtOnce @6 :Bool;
  datacenters @7 :List(Text);
  nodePool @8 :Text;
  constraints @9 :List(Common.Constraint);
  affinities @10 :List(Common.Affinity);
  spreads @11 :List(Common.Spread);
  taskGroups @12 :List(TaskGroup);
  update @13 :UpdateStrategy $always;
  multiregion @14 :Text $raw;
  periodic @15 :PeriodicConfig;
  parameterizedJob @16 :ParameterizedJobConfig;
  meta @17 :List(Common.TextEntry) $map;
  payload @18 :Data;
  dispatched @19 :Bool;
  dispatchIdempotencyToken @20 :Text;
  parentId @21 :Text $json("ParentID");
  consulToken @22 :Text $secret;
  vaultToken @23 :Text $secret;
  consulNamespace @24 :Text;
  vaultNamespace @25 :Text;
  nomadTokenId @26 :Text $json("NomadTokenID");
  stop @27 :Bool;
  status @28 :Text;
  statusDescription @29 :Text;
  stable @30 :Bool;
  version @31 :UInt64;
  submitTime @32 :Int64;
  createIndex @33 :UInt64;
  modifyIndex @34 :UInt64;
  jobModifyIndex @35 :UInt64;
}

struct TaskGroupSummary {
  queued @0 :Int64;
  complete @1 :Int64;
  failed @2 :Int64;
  running @3 :Int64;
  starting @4 :Int64;
  lost @5 :Int64;
  unknown @6 :Int64;
}

struct JobChildrenSummary {
  pending @0 :Int64;
  running @1 :Int64;
  dead @2 :Int64;
}

struct JobSummary {
  jobId @0 :Text $json("JobID");
  namespace @1 :Text;
  summary @2 :List(Entry) $map;
  children @3 :JobChildrenSummary $always;
  createIndex @4 :UInt64;
  modifyIndex @5 :UInt64;

  struct Entry { key @0 :Text; value @1 :TaskGroupSummary; }
}
