# Jobs as users hand them in and as the servers keep them, after canonicalization.
# Durations are Int64 nanoseconds.
@0xd5a1c1e3f5b2a903;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".always;
using import "annotations.capnp".bookkeeping;
using import "annotations.capnp".byValue;
using import "annotations.capnp".default;
using import "annotations.capnp".duration;
using import "annotations.capnp".hcl;
using import "annotations.capnp".int64;
using import "annotations.capnp".json;
using import "annotations.capnp".label;
using import "annotations.capnp".map;
using import "annotations.capnp".nullable;
using import "annotations.capnp".omitEmpty;
using import "annotations.capnp".omitNull;
using import "annotations.capnp".only;
using import "annotations.capnp".partly;
using import "annotations.capnp".raw;
using import "annotations.capnp".refused;
using import "annotations.capnp".secret;
using import "annotations.capnp".serverOnly;
using import "annotations.capnp".unheeded;
using import "annotations.capnp".update;
using import "annotations.capnp".works;
using Common = import "common.capnp";

struct UpdateStrategy $nullable(true) {
  stagger @0 :Int64 $duration $default("30s") $works;
  maxParallel @1 :Int64 $default("1") $works;
  healthCheck @2 :Text $default("checks") $works;
  minHealthyTime @3 :Int64 $duration $default("10s") $works;
  healthyDeadline @4 :Int64 $duration $default("5m") $works;
  progressDeadline @5 :Int64 $duration $default("10m") $works;
  canary @8 :Int64 $default("0") $works;
  autoRevert @6 :Bool $default("false") $works;
  autoPromote @7 :Bool $default("false") $works;
}

struct PeriodicConfig $nullable(true) {
  enabled @0 :Bool $default("true") $works;
  spec @1 :Text $hcl("cron") $default("") $works;
  specs @2 :List(Text) $always $hcl("crons") $works;
  specType @3 :Text $hcl("") $default("cron");
  prohibitOverlap @4 :Bool $default("false") $works;
  timeZone @5 :Text $works;
}

struct ParameterizedJobConfig {
  payload @0 :Text $works;
  metaRequired @1 :List(Text) $works;
  metaOptional @2 :List(Text) $works;
}

struct RestartPolicy $nullable(true) {
  interval @1 :Int64 $duration $update(inPlace) $works;
  attempts @0 :Int64 $update(inPlace) $works;
  delay @2 :Int64 $duration $default("15s") $update(inPlace) $works;
  mode @3 :Text $default("fail") $update(inPlace) $works;
  renderTemplates @4 :Bool $default("false") $works;
}

struct ReschedulePolicy $nullable(true) {
  attempts @0 :Int64 $works;
  interval @1 :Int64 $duration $works;
  delay @2 :Int64 $duration $works;
  delayFunction @3 :Text $works;
  maxDelay @4 :Int64 $duration $works;
  unlimited @5 :Bool $works;
}

struct MigrateStrategy $nullable(true) {
  maxParallel @0 :Int64 $default("1") $works;
  healthCheck @1 :Text $default("checks") $works;
  minHealthyTime @2 :Int64 $duration $default("10s") $works;
  healthyDeadline @3 :Int64 $duration $default("5m") $works;
}

struct EphemeralDisk $nullable(true) {
  sticky @0 :Bool $default("false") $works;
  migrate @2 :Bool $default("false") $works;
  sizeMb @1 :Int64 $json("SizeMB") $hcl("size") $default("300") $works;
}

struct CheckRestart {
  limit @0 :Int64 $works;
  grace @1 :Int64 $duration $nullable(true) $default("1s") $works;
  ignoreWarnings @2 :Bool $works;
}

struct ServiceCheck {
  name @0 :Text $works;
  type @1 :Text $works;
  command @2 :Text $works;
  args @3 :List(Text) $works;
  path @4 :Text $works;
  protocol @5 :Text $works;
  portLabel @6 :Text $hcl("port") $works;
  expose @7 :Bool $refused("there is no service mesh; leave it out");
  addressMode @8 :Text $works;
  interval @9 :Int64 $duration $works;
  timeout @10 :Int64 $duration $works;
  initialStatus @11 :Text $unheeded("it is of Consul's checks");
  tlsServerName @12 :Text $json("TLSServerName") $works;
  tlsSkipVerify @13 :Bool $json("TLSSkipVerify") $works;
  header @15 :List(Common.TextListEntry) $map $works;
  method @14 :Text $works;
  checkRestart @16 :CheckRestart $works;
  grpcService @17 :Text $json("GRPCService") $works;
  grpcUseTls @18 :Bool $json("GRPCUseTLS") $works;
  taskName @19 :Text $hcl("task") $works;
  successBeforePassing @20 :Int64 $unheeded("it is of Consul's checks");
  failuresBeforeCritical @21 :Int64 $unheeded("it is of Consul's checks");
  body @22 :Text $works;
  onUpdate @23 :Text $works;
}

struct Service {
  name @0 :Text $works;
  tags @6 :List(Text) $works;
  canaryTags @7 :List(Text) $works;
  enableTagOverride @5 :Bool $unheeded("it is of Consul's services");
  portLabel @2 :Text $hcl("port") $works;
  addressMode @3 :Text $default("auto") $works;
  address @4 :Text $works;
  checks @8 :List(ServiceCheck) $hcl("check") $byValue $works;
  connect @9 :Text $raw
      $refused("there is no service mesh; leave it out");  # ConsulConnect of unstored.capnp
  meta @10 :List(Common.TextEntry) $map $unheeded("it is of Consul's services");
  canaryMeta @11 :List(Common.TextEntry) $map $unheeded("it is of Consul's services");
  taggedAddresses @12 :List(Common.TextEntry) $map $unheeded("they are of Consul's services");
  taskName @1 :Text $hcl("task") $works;
  onUpdate @14 :Text $default("require_healthy") $works;
  provider @15 :Text $default("consul")
      $partly("\"nomad\", or one that a plugin brings; with \"consul\" the group is not placed");
  namespace @13 :Text $serverOnly;
  identity @16 :Identity $omitEmpty $omitNull $works;
}

struct MountOptions $json("CSIMountOptions") {
  fsType @0 :Text $json("FSType") $works;
  mountFlags @1 :List(Text) $works;
}

struct VolumeRequest {
  name @0 :Text $label $works;
  type @1 :Text $works;
  source @2 :Text $works;
  readOnly @3 :Bool $works;
  accessMode @4 :Text $works;
  attachmentMode @5 :Text $works;
  mountOptions @6 :MountOptions $works;
  perAlloc @7 :Bool $works;
}

struct VolumeMount $nullable(true) {
  volume @0 :Text $works;
  destination @1 :Text $works;
  readOnly @2 :Bool $default("false") $works;
  propagationMode @3 :Text $default("private") $works;
}

struct Lifecycle $json("TaskLifecycle") {
  hook @0 :Text $works;
  sidecar @1 :Bool $works;
}

struct LogConfig $nullable(true) {
  maxFiles @0 :Int64 $default("10") $update(inPlace) $works;
  maxFileSizeMb @1 :Int64 $json("MaxFileSizeMB") $hcl("max_file_size") $default("10")
      $update(inPlace) $works;
  disabled @2 :Bool $default("false") $works;
}

struct ChangeScript $nullable(true) {
  command @0 :Text $default("") $works;
  args @1 :List(Text) $always $works;
  timeout @2 :Int64 $duration $default("5s") $works;
  failOnError @3 :Bool $default("false") $works;
  runOnFirstRender @4 :Bool $nullable(false) $omitEmpty $omitNull $works;  # of later releases
}

struct WaitConfig {
  min :union $json("Min") $duration $works { unset @0 :Void; value @1 :Int64; }
  max :union $json("Max") $duration $works { unset @2 :Void; value @3 :Int64; }
}

struct Template $nullable(true) {
  sourcePath @0 :Text $hcl("source") $default("") $works;
  destPath @1 :Text $hcl("destination") $default("") $works;
  embeddedTmpl @2 :Text $hcl("data") $default("") $works;
  changeMode @3 :Text $default("restart") $works;
  changeScript @5 :ChangeScript $works;
  changeSignal @4 :Text $works;
  splay @6 :Int64 $duration $default("5s") $works;
  perms @7 :Text $default("0644") $works;
  uid :union $json("Uid") $works { unset @8 :Void; value @9 :Int64; }
  gid :union $json("Gid") $works { unset @10 :Void; value @11 :Int64; }
  leftDelim @12 :Text $hcl("left_delimiter") $default("{{") $works;
  rightDelim @13 :Text $hcl("right_delimiter") $default("}}") $works;
  envvars @14 :Bool $hcl("env") $default("false") $works;
  vaultGrace @15 :Int64 $duration $default("0s") $works;
  wait @16 :WaitConfig $works;
  errMissingKey @17 :Bool $hcl("error_on_missing_key") $default("false") $works;
  once @18 :Bool $nullable(false) $omitEmpty $omitNull $works;  # of later releases
}

struct Vault $nullable(true) {
  policies @0 :List(Text);
  namespace @1 :Text $default("");
  env @2 :Bool $default("true");
  disableFile @3 :Bool $default("false");
  changeMode @4 :Text $default("restart");
  changeSignal @5 :Text $default("SIGHUP");
}

struct Artifact $json("TaskArtifact") $nullable(true) {
  getterSource @0 :Text $hcl("source") $default("") $works;
  getterOptions @1 :List(Common.TextEntry) $map $hcl("options") $works;
  getterHeaders @2 :List(Common.TextEntry) $map $hcl("headers") $works;
  getterMode @3 :Text $hcl("mode") $default("any") $works;
  relativeDest @4 :Text $hcl("destination") $works;
  getterInsecure @5 :Bool $hcl("insecure") $nullable(false) $omitEmpty $omitNull $works;  # of later releases
  chown @6 :Bool $nullable(false) $omitEmpty $omitNull $works;                            # likewise
}

struct DispatchPayload $json("DispatchPayloadConfig") { file @0 :Text $works; }

struct CsiPluginConfig $json("TaskCSIPluginConfig") {
  id @0 :Text $json("ID") $works;
  type @1 :Text $works;
  mountDir @2 :Text $default("/csi") $works;
  stagePublishBaseDir @3 :Text $default("/local/csi") $works;
  healthTimeout @4 :Int64 $duration $default("30s") $works;
}

# One of a task's or service's identities. The one without a name is Nomad's own; the others are of
# later releases, and left out where nobody has asked for them.
struct Identity $json("WorkloadIdentity") {
  name @2 :Text $omitEmpty $omitNull $works;
  audience @3 :List(Text) $hcl("aud") $omitEmpty $omitNull $works;
  changeMode @4 :Text $omitEmpty $omitNull $works;
  changeSignal @5 :Text $omitEmpty $omitNull $works;
  env @0 :Bool $works;
  file @1 :Bool $works;
  filepath @6 :Text $omitEmpty $omitNull $works;
  serviceName @7 :Text $omitEmpty $omitNull $works;
  ttl @8 :Int64 $duration $json("TTL") $omitEmpty $omitNull $works;
}

# What users may have run in a task without knowing the command; of later releases.
struct Action {
  name @0 :Text $label $works;
  command @1 :Text $works;
  args @2 :List(Text) $works;
}

# When a task runs; outside of it the task is paused. Of later releases.
struct TaskScheduleCron {
  start @0 :Text $works;               # six fields of a cron expression: the last one is the year
  end @1 :Text $works;                 # minute and hour of the day of the start
  timezone @2 :Text $works;            # "": the node's
}
struct TaskSchedule { cron @0 :TaskScheduleCron $works; }

struct ScalingPolicy {
  min @4 :Int64 $int64 $nullable(true) $works;
  max @5 :Int64 $int64 $nullable(true) $works;
  policy @3 :Text $raw $works;
  enabled @6 :Bool $nullable(true) $works;
  type @1 :Text $works;
  id @0 :Text $json("ID") $hcl("") $bookkeeping;
  target @2 :List(Common.TextEntry) $map $hcl("");
  createIndex @7 :UInt64 $hcl("") $bookkeeping;
  modifyIndex @8 :UInt64 $hcl("") $bookkeeping;
}

struct Task {
  name @0 :Text $label $update(special) $works;
  driver @1 :Text $works;
  user @2 :Text $works;
  lifecycle @13 :Lifecycle $update(inPlace) $works;
  config @3 :Text $raw $works;
  constraints @8 :List(Common.Constraint) $hcl("constraint") $update(inPlace) $works;
  affinities @9 :List(Common.Affinity) $hcl("affinity") $update(special) $works;
  env @4 :List(Common.TextEntry) $map $works;
  services @5 :List(Service) $hcl("service") $update(inPlace) $works;
  resources @10 :Common.Resources $works;
  restartPolicy @11 :RestartPolicy $hcl("restart") $works;
  meta @14 :List(Common.TextEntry) $map $update(special) $works;
  killTimeout @15 :Int64 $duration $nullable(true) $default("5s") $update(inPlace) $works;
  logConfig @16 :LogConfig $hcl("logs") $works;
  artifacts @17 :List(Artifact) $hcl("artifact") $works;
  vault @6 :Vault $refused("there is no Vault; keep secrets as Nomad variables");
  templates @7 :List(Template) $hcl("template") $works;
  dispatchPayload @12 :DispatchPayload $update(inPlace) $works;
  volumeMounts @20 :List(VolumeMount) $hcl("volume_mount")
      $partly("exec, java and docker mount them; with other drivers the task fails with a word about it");
  csiPluginConfig @24 :CsiPluginConfig $json("CSIPluginConfig") $hcl("csi_plugin") $omitNull $works;
  leader @18 :Bool $update(inPlace) $works;
  shutdownDelay @19 :Int64 $duration $update(inPlace) $works;
  killSignal @22 :Text $update(inPlace) $works;
  kind @23 :Text $update(inPlace)
      $unheeded("it marks the proxies of a service mesh, and there is none");
  scalingPolicies @21 :List(ScalingPolicy) $hcl("scaling") $update(inPlace)
      $unheeded("policies of tasks are not listed, as in Nomad's community build");
  identity @25 :Identity $works;
  identities @26 :List(Identity) $hcl("") $omitEmpty $omitNull;  # its blocks that have a name
  actions @27 :List(Action) $hcl("action") $omitEmpty $omitNull $update(inPlace) $works;
  schedule @28 :TaskSchedule $omitEmpty $omitNull $update(inPlace) $works;
}

# What becomes of a group's allocations on a node that is away, and when it is back; of later releases, in
# place of stopAfterClientDisconnect and maxClientDisconnect.
struct Disconnect $json("DisconnectStrategy") {
  lostAfter :union $json("LostAfter") $duration $works { unset @0 :Void; value @1 :Int64; }
  stopOnClientAfter :union $json("StopOnClientAfter") $duration $works { unset @2 :Void; value @3 :Int64; }
  replace :union $json("Replace") $works { unset @4 :Void; value @5 :Bool; }
  reconcile @6 :Text $works;
}

struct Consul { namespace @0 :Text $unheeded("there is no Consul"); }

struct TaskGroup {
  name @0 :Text $label $nullable(true) $default("") $update(special) $works;
  count @1 :Int64 $nullable(true) $default("1") $update(inPlace) $works;
  constraints @4 :List(Common.Constraint) $hcl("constraint") $update(inPlace) $works;
  affinities @11 :List(Common.Affinity) $hcl("affinity") $update(special) $works;
  tasks @7 :List(Task) $hcl("task") $update(special) $works;
  spreads @12 :List(Common.Spread) $hcl("spread") $update(special) $works;
  volumes @16 :List(VolumeEntry) $map $hcl("volume") $works;
  restartPolicy @6 :RestartPolicy $hcl("restart") $works;
  reschedulePolicy @10 :ReschedulePolicy $hcl("reschedule") $update(inPlace) $works;
  ephemeralDisk @8 :EphemeralDisk $works;
  update @2 :UpdateStrategy $update(inPlace) $works;
  migrate @3 :MigrateStrategy $update(inPlace) $works;
  networks @13 :List(Common.NetworkResource) $hcl("network") $update(special) $works;
  meta @9 :List(Common.TextEntry) $map $update(special) $works;
  services @15 :List(Service) $hcl("service") $update(special) $works;
  shutdownDelay :union $json("ShutdownDelay") $duration $update(inPlace) $works {
    unset @17 :Void;
    value @18 :Int64;
  }
  stopAfterClientDisconnect :union $json("StopAfterClientDisconnect") $duration $update(inPlace)
      $works {
    unset @19 :Void;
    value @20 :Int64;
  }
  maxClientDisconnect :union $json("MaxClientDisconnect") $duration $update(inPlace) $works {
    unset @21 :Void;
    value @22 :Int64;
  }
  scaling @5 :ScalingPolicy $update(inPlace) $works;
  consul @14 :Consul $partly("there is no Consul, so its namespace has no effect");
  disconnect @23 :Disconnect $omitEmpty $omitNull $update(inPlace) $works;
  preventRescheduleOnLost @24 :Bool $omitEmpty $omitNull $update(inPlace) $works;  # of later releases

  struct VolumeEntry { key @0 :Text; value @1 :VolumeRequest; }
}

# What the web UI shows of a job; of later releases.
struct JobUiLink $json("JobUILink") {
  label @0 :Text $works;
  url @1 :Text $works;
}
struct JobUi $json("JobUIConfig") {
  description @0 :Text $works;
  links @1 :List(JobUiLink) $hcl("link") $works;
}

# The name that keeps a version of a job from being forgotten; of later releases.
struct JobVersionTag {
  name @0 :Text;
  description @1 :Text;
  taggedTime @2 :Int64 $int64;
}

struct Job $nullable(true) {
  region @3 :Text $default("global") $works;
  namespace @2 :Text $default("default") $works;
  id @0 :Text $json("ID") $default("") $works;
  name @1 :Text $works;
  type @4 :Text $default("service") $works;
  priority @5 :Int64 $default("50") $works;
  allAtOnce @6 :Bool $default("false") $works;
  datacenters @7 :List(Text) $works;
  nodePool @8 :Text $default("") $works;
  constraints @9 :List(Common.Constraint) $hcl("constraint") $works;
  affinities @10 :List(Common.Affinity) $hcl("affinity") $works;
  taskGroups @12 :List(TaskGroup) $hcl("group") $works;
  update @13 :UpdateStrategy $always $works;
  multiregion @14 :Text $raw $refused("");  # Multiregion of unstored.capnp
  spreads @11 :List(Common.Spread) $hcl("spread") $works;
  periodic @15 :PeriodicConfig $works;
  parameterizedJob @16 :ParameterizedJobConfig $hcl("parameterized") $works;
  meta @17 :List(Common.TextEntry) $map $works;
  consulToken @22 :Text $secret $default("") $unheeded("there is no Consul");
  vaultToken @23 :Text $secret $default("") $unheeded("there is no Vault");
  stop @27 :Bool $hcl("") $default("false");
  parentId @21 :Text $json("ParentID") $serverOnly $default("");
  dispatched @19 :Bool $serverOnly $nullable(false);
  dispatchIdempotencyToken @20 :Text $serverOnly;
  payload @18 :Data $hcl("");
  consulNamespace @24 :Text $serverOnly $default("");
  vaultNamespace @25 :Text $hcl("") $default("");
  nomadTokenId @26 :Text $json("NomadTokenID") $serverOnly $bookkeeping $default("");
  status @28 :Text $serverOnly $bookkeeping $default("");
  statusDescription @29 :Text $serverOnly $bookkeeping $default("");
  stable @30 :Bool $serverOnly $bookkeeping $default("false");
  version @31 :UInt64 $serverOnly $bookkeeping $default("0");
  submitTime @32 :Int64 $int64 $serverOnly $bookkeeping;
  createIndex @33 :UInt64 $serverOnly $bookkeeping $default("0");
  modifyIndex @34 :UInt64 $serverOnly $bookkeeping $default("0");
  jobModifyIndex @35 :UInt64 $serverOnly $bookkeeping $default("0");
  ui @36 :JobUi $json("UI") $omitEmpty $omitNull $works;
  versionTag @37 :JobVersionTag $serverOnly $bookkeeping $omitEmpty $omitNull;
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
