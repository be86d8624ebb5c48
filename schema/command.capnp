# Commands: the payload of Raft log entries. Applying one is total and deterministic: it reads
# no clock and draws no random number, so whatever depends on those (ids, times) is in it.
# A condition that does not hold (enforceIndex, an unknown id) is the command's outcome.
@0xd5a1c1e3f5b2a90a;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using Job = import "job.capnp";
using Alloc = import "alloc.capnp";
using Node = import "node.capnp";
using Eval = import "eval.capnp";
using Deployment = import "deployment.capnp";
using Service = import "service.capnp";
using Operator = import "operator.capnp";
using Common = import "common.capnp";
using Csi = import "csi.capnp";
using Variable = import "variable.capnp";
using Scaling = import "scaling.capnp";
using Periodic = import "periodic.capnp";
using Acl = import "acl.capnp";
using Quota = import "quota.capnp";
using Admission = import "admission.capnp";

# Puts a job (its `version`, `status` and indexes are set by apply) and the evaluation that
# follows from it, in one entry. `evaluation` is null for periodic and parameterized jobs.
struct JobRegister {
  job @0 :Job.Job;
  evaluation @1 :Eval.Evaluation;
  enforceIndex @2 :Bool;               # refuse unless the job's JobModifyIndex is as given
  jobModifyIndex @3 :UInt64;           # with enforceIndex; 0 means "must not exist"
  keepCounts @4 :Bool;                 # PreserveCounts: group counts of the stored job win
  deployment @5 :Deployment.Deployment;  # null, or the new version's: takes over from an active one
  sourceOf :union {                    # the version whose submission is the new one's, too
    unset @6 :Void;
    value @7 :UInt64;
  }
}

struct JobDeregister {
  namespace @0 :Text;
  jobId @1 :Text;
  purge @2 :Bool;
  evaluation @3 :Eval.Evaluation;
  submitTime @4 :Int64;                # Unix nanoseconds
}

struct JobStability {
  namespace @0 :Text;
  jobId @1 :Text;
  version @2 :UInt64;
  stable @3 :Bool;
}

# Names a version of a job, or takes its name away. One that is not known any more needs none.
struct JobVersionTagging {
  namespace @0 :Text;
  jobId @1 :Text;
  version @2 :UInt64;
  tag @3 :Job.JobVersionTag;           # null: it has none from now on
}

# New or changed evaluations, by id.
struct EvalUpdate { evaluations @0 :List(Eval.Evaluation); }

# What a client says of its allocations. Of each allocation only these fields count: id,
# clientStatus, clientDescription, taskStates, deploymentStatus, networkStatus, modifyTime,
# reportNumber. A report whose number is not above the stored one is passed over; 0 never is.
struct AllocClientUpdate {
  allocations @0 :List(Alloc.Allocation);
  evaluations @1 :List(Eval.Evaluation);
}

# Asks for allocations to be moved, rescheduled or stopped.
struct AllocTransition {
  struct Entry { allocId @0 :Text; transition @1 :Alloc.DesiredTransition; }
  entries @0 :List(Entry);
  evaluations @1 :List(Eval.Evaluation);
}

struct NodeRegister { node @0 :Node.Node; }

struct NodeStatusUpdate {
  nodeId @0 :Text;
  status @1 :Node.NodeStatus;
  updatedAt @2 :Int64;                 # Unix seconds
  event @3 :Node.NodeEvent;            # null: none
  evaluations @4 :List(Eval.Evaluation);
}

struct NodeEligibilityUpdate {
  nodeId @0 :Text;
  eligibility @1 :Node.SchedulingEligibility;
  updatedAt @2 :Int64;
  event @3 :Node.NodeEvent;
  evaluations @4 :List(Eval.Evaluation);
}

struct NodeDrainUpdate {
  nodeId @0 :Text;
  drainStrategy @1 :Node.DrainStrategy;  # null ends the drain
  markEligible @2 :Bool;
  lastDrain @3 :Node.DrainMetadata;
  updatedAt @4 :Int64;
  event @5 :Node.NodeEvent;
  evaluations @6 :List(Eval.Evaluation);
  onlyOf @7 :Node.DrainStrategy;         # refuse unless the node drains by it; null: whatever it does
}

struct NodeDeregister {
  nodeIds @0 :List(Text);
  evaluations @1 :List(Eval.Evaluation);
}

# What a client says that happened on its node, the oldest first.
struct NodeEventsUpsert {
  nodeId @0 :Text;
  events @1 :List(Node.NodeEvent);
}

struct DeploymentUpdate {
  deploymentId @0 :Text;
  status @1 :Deployment.DeploymentState;
  statusDescription @2 :Text;
}

# One scheduler's verified decision. Allocations that are stopped, preempted or changed name only
# what changes: id, desiredStatus, desiredDescription, clientStatus (lost), followupEvalId,
# preemptedByAllocation, desiredTransition.
struct PlanResult {
  evalId @0 :Text;
  placed @1 :List(Alloc.Allocation);      # new, or updated in place: whole rows
  stopped @2 :List(Alloc.Allocation);
  preempted @3 :List(Alloc.Allocation);
  metrics @4 :List(Alloc.AllocMetric);    # shared: `metricNumber` of a placed one is its position here
  deployment @5 :Deployment.Deployment;   # null: none
  deploymentUpdates @6 :List(DeploymentUpdate);
  evaluations @7 :List(Eval.Evaluation);  # follow-ups and preemptions
  modifyTime @8 :Int64;                   # Unix nanoseconds
  identityKey @9 :UInt64;                 # of those placed that have none; see Allocation
}

# Several plans verified against the same state, in order.
struct PlanResults { plans @0 :List(PlanResult); }

struct DeploymentStatusUpdate {
  update @0 :DeploymentUpdate;
  job @1 :Job.Job;                        # null, or the version to revert to
  evaluation @2 :Eval.Evaluation;
}

struct DeploymentPromotion {
  deploymentId @0 :Text;
  all @1 :Bool;
  groups @2 :List(Text);
  evaluation @3 :Eval.Evaluation;
}

struct DeploymentAllocHealth {
  deploymentId @0 :Text;
  healthyIds @1 :List(Text);
  unhealthyIds @2 :List(Text);
  timestamp @3 :Int64;                    # Unix nanoseconds
  update @4 :DeploymentUpdate;            # null: the status stays
  job @5 :Job.Job;
  evaluation @6 :Eval.Evaluation;
}

# Removes what garbage collection chose. Ids that are not there are passed over.
struct Reap {
  struct JobKey { namespace @0 :Text; id @1 :Text; }
  evaluationIds @0 :List(Text);
  allocationIds @1 :List(Text);
  deploymentIds @2 :List(Text);
  jobs @3 :List(JobKey);               # in old entries only: see JobsReap
}

# Purges jobs that garbage collection chose. One that is no longer dead, or of which something is
# left, is passed over: it was registered again meanwhile.
struct JobsReap { jobs @0 :List(Reap.JobKey); }

# Removes what an operator wants to be forgotten, while the eval broker is paused and only what is
# safe to delete (runtime/state/eval_rules). Those that are named: all, or none if one of them is not
# safe; ids that are not there are passed over. By filter: of the evaluations with after < key <=
# through that are of `namespaces` and that it holds for, the first `limit`. Keys are those of the
# order by jobs, namespace\0job id\0status, id: so what an entry removes lies together.
struct EvalDelete {
  evaluationIds @0 :List(Text);
  filter @1 :Text;                     # empty: those that are named
  after @2 :Data;
  through @3 :Data;
  limit @4 :UInt32;
  namespaces @5 :List(Text);
}

# Works the summaries of the jobs from `first` to `last`, in the order of the state, out anew from
# what there is of them.
struct SummariesReconcile {
  first @0 :Reap.JobKey;
  last @1 :Reap.JobKey;
}

# Registers a launch of a periodic job and notes its time, by which a later leader knows what was
# missed.
struct PeriodicLaunchRegister {
  launch @0 :Periodic.PeriodicLaunch;
  child @1 :JobRegister;
}

struct ServiceUpsert { services @0 :List(Service.ServiceRegistration); }

struct ServiceDelete {
  struct Key { namespace @0 :Text; id @1 :Text; }
  keys @0 :List(Key);
  nodeId @1 :Text;                        # or all of a node
}

# What client nodes say of the services of their allocations: first `gone` goes, then `registered`
# comes. Passed over: what is gone already, and registrations of allocations that have ended, or
# whose node was given up, since this was decided. All else about them was checked before.
struct NodeServices {
  struct Gone {
    namespace @0 :Text;                   # the allocation's
    allocId @1 :Text;
    ids @2 :List(Text);                   # none: all of the allocation
  }
  gone @0 :List(Gone);
  registered @1 :List(Service.ServiceRegistration);
}

enum VariableOperation {
  set @0;
  delete @1;
  checkAndSet @2;                         # only if `checkIndex` is the stored ModifyIndex
  checkAndDelete @3;
}

# Puts or deletes a variable, sealed by the proposer. `checkIndex` 0 means "must not exist". What is
# stored instead of what was expected is part of the outcome.
struct VariableApply {
  operation @0 :VariableOperation;
  variable @1 :Variable.Variable;         # of a deletion only namespace and path
  checkIndex @2 :UInt64;
  region @3 :Text;                     # the cluster's, whose quotas bound what is put; "": none does
  lockId @4 :Text;                     # of the lock that the writer holds; "": of none
}

# Locks a variable, or lifts its lock.
struct VariableLocking {
  release @0 :Bool;
  # Its lock's id is the one that is taken or given up. Of one that is locked also what it is to hold;
  # of a release the modifyIndex that it must have, or 0.
  variable @1 :Variable.Variable;
  keepData @2 :Bool;                   # what is stored stays, if there is something
  region @3 :Text;                     # as of VariableApply
}

# Stores a root key. One that is new and active takes over: the former active one becomes
# inactive, or, with `rekey`, all others become rekeying. A change of one that is stored names the
# modifyIndex that it is made from, and is refused when that is not the stored one any more.
struct RootKeyUpsert {
  key @0 :Variable.RootKey;
  rekey @1 :Bool;
  checkIndex @2 :UInt64;               # 0: whatever is stored
}

# One row of a snapshot that is being restored.
struct RestoreRow {
  table @0 :Text;
  key @1 :Data;
  value @2 :Data;
}

# Rows to be kept aside until RestoreFinish. Numbers go on from entry to entry, from 0.
struct RestoreRows {
  restoreId @0 :Text;
  firstNumber @1 :UInt64;
  rows @2 :List(RestoreRow);
}

# Replaces the whole state by the rows that were kept aside, if they are `rows` in number.
struct RestoreFinish {
  restoreId @0 :Text;
  rows @1 :UInt64;
  index @2 :UInt64;                       # the newest index in them: what comes is greater
}

# With `check` only if `configuration.modifyIndex` is the stored one's.
struct AutopilotUpdate {
  configuration @0 :Operator.AutopilotConfiguration;
  check @1 :Bool;
}

# What somebody asked of a group's count, or has to tell of it, and the registration that follows
# from it; null: none. A registration that is refused leaves no event.
struct JobScale {
  registration @0 :JobRegister;
  namespace @1 :Text;
  jobId @2 :Text;
  taskGroup @3 :Text;
  event @4 :Scaling.ScalingEvent;
}

# Makes the first management token, or with the last one's index as `resetIndex` another one.
struct AclBootstrapApply {
  token @0 :Acl.AclToken;
  resetIndex @1 :UInt64;
}

# Puts a token whose secret the proposer has sealed. A new one needs an accessor and a secret that
# nobody has; of one that is stored, secret, times and locality stay.
struct AclTokenUpsert {
  token @0 :Acl.AclToken;
  isNew @1 :Bool;
}

# Gives a one-time token up: it must be there, be for that token, and have that secret. All others of
# the token go with it.
struct AclOneTimeTokenExchange {
  secretHash @0 :Data;
  accessorId @1 :Text;
}

# Removes what has expired, the oldest first, at most `limit` of each.
struct AclExpire {
  tokensBefore @0 :Int64;              # Unix nanoseconds
  oneTimeTokensBefore @1 :Int64;
  limit @2 :UInt32;
}

# Secrets that were sealed anew by another root key. One that is another by now is passed over.
struct AclReseal {
  struct Sealed {
    name @0 :Text;                     # of a token its accessor
    before @1 :Data;                   # as it was sealed
    keyId @2 :Text;
    sealed @3 :Data;
  }
  tokens @0 :List(Sealed);
  authMethods @1 :List(Sealed);
  volumes @2 :List(Sealed);            # of CSI: by namespace\0id
}

# Stores a CSI volume, with its secrets sealed. Of one that is there its claims stay, with the access
# and attachment mode that follow from them, and where the command has none its context and topologies.
struct CsiVolumeRegister {
  volume @0 :Csi.CsiVolume;
  keepSecrets @1 :Bool;                # those that are stored stay, if there are some
}

# By force one whose claims are all of allocations that have ended.
struct CsiVolumeDeregister {
  namespace @0 :Text;
  id @1 :Text;
  force @2 :Bool;
}

# Takes claims, or says how far giving back is: in `state` taken by the rules of runtime/state/csi, of
# which the outcome is; otherwise as a checkpoint, which never goes back, and in state
# controllerDetached the claim goes. One of a volume or claim that is not there is passed over.
struct CsiClaimUpdate {
  struct Entry {
    namespace @0 :Text;
    volumeId @1 :Text;
    claim @2 :Csi.CsiClaim;
  }
  entries @0 :List(Entry);             # one that is refused leaves all undone
}

# Rows of a kind that hold in all regions, as the authoritative one has them (runtime/cluster/regions),
# where they were judged. Passed over: a row that cannot be read, or whose root key has gone, and the
# removal of one that is still needed here.
struct SharedRows {
  kind @0 :Text;                       # as snapshots call it
  rows @1 :List(Data);                 # whole
  removed @2 :List(Text);              # their keys
}

# A command that was decided on a state, and what of that was read: applied only if all of it is as it
# was. Otherwise the outcome is `stale`, and whoever decided decides anew. See runtime/state/reads.
struct Guarded {
  enum What { row @0; noRow @1; range @2; table @3; }
  struct Read {
    table @0 :UInt16;                    # a stored one, by its position in state::Table
    what @1 :What;
    order @2 :UInt16;                    # of a range: state::RowOrder
    rows @3 :UInt32;                     # of a range: how many there were
    key @4 :Data;                        # of a row; of a range: what its positions begin with
  }
  readIndex @0 :UInt64;
  reads @1 :List(Read);
  command @2 :Command;                   # no guarded one
}

struct Command {
  union {
    noop @0 :Void;                        # a new leader's first entry
    jobRegister @1 :JobRegister;
    jobDeregister @2 :JobDeregister;
    jobStability @3 :JobStability;
    evalUpdate @4 :EvalUpdate;
    allocClientUpdate @5 :AllocClientUpdate;
    allocTransition @6 :AllocTransition;
    nodeRegister @7 :NodeRegister;
    nodeStatusUpdate @8 :NodeStatusUpdate;
    nodeEligibilityUpdate @9 :NodeEligibilityUpdate;
    nodeDrainUpdate @10 :NodeDrainUpdate;
    nodeDeregister @11 :NodeDeregister;
    planResults @12 :PlanResults;
    deploymentStatusUpdate @13 :DeploymentStatusUpdate;
    deploymentPromotion @14 :DeploymentPromotion;
    deploymentAllocHealth @15 :DeploymentAllocHealth;
    reap @16 :Reap;
    serviceUpsert @17 :ServiceUpsert;
    serviceDelete @18 :ServiceDelete;
    schedulerConfiguration @19 :Operator.SchedulerConfiguration;
    namespaceUpsert @20 :Node.Namespace;
    namespaceDelete @21 :Text;
    nodePoolUpsert @22 :Node.NodePool;
    nodePoolDelete @23 :Text;
    variableApply @24 :VariableApply;
    rootKeyUpsert @25 :RootKeyUpsert;
    rootKeyDelete @26 :Text;
    keyHolderUpsert @27 :Variable.KeyHolder;
    keyHolderDelete @28 :Text;
    restoreBegin @29 :Text;               # its id; whatever was kept aside is dropped
    restoreRows @30 :RestoreRows;
    restoreFinish @31 :RestoreFinish;
    autopilotUpdate @32 :AutopilotUpdate;
    nodeServices @33 :NodeServices;
    nodeEventsUpsert @34 :NodeEventsUpsert;
    jobScale @35 :JobScale;
    jobSubmission @36 :Scaling.JobSubmission;  # of the version that jobModifyIndex names
    evalDelete @37 :EvalDelete;
    periodicLaunchRegister @38 :PeriodicLaunchRegister;
    jobsReap @39 :JobsReap;
    summariesReconcile @40 :SummariesReconcile;
    guarded @41 :Guarded;
    aclPolicyUpsert @42 :Acl.AclPolicy;
    aclPolicyDelete @43 :Text;
    aclTokenUpsert @44 :AclTokenUpsert;
    aclTokenDelete @45 :Text;             # its accessor; its one-time tokens go with it
    aclBootstrap @46 :AclBootstrapApply;
    aclOneTimeTokenUpsert @47 :Acl.AclOneTimeToken;
    aclOneTimeTokenExchange @48 :AclOneTimeTokenExchange;
    aclExpire @49 :AclExpire;
    aclReseal @50 :AclReseal;
    aclRoleUpsert @51 :Acl.AclRole;
    aclRoleDelete @52 :Text;
    aclAuthMethodUpsert @53 :Acl.AclAuthMethod;
    aclAuthMethodDelete @54 :Text;        # the rules that name it stay
    aclBindingRuleUpsert @55 :Acl.AclBindingRule;
    aclBindingRuleDelete @56 :Text;
    sharedRows @57 :SharedRows;
    quotaUpsert @58 :Quota.QuotaSpec;
    quotaDelete @59 :Text;
    admissionPolicyUpsert @60 :Admission.AdmissionPolicy;
    admissionPolicyDelete @61 :Text;
    variableLocking @62 :VariableLocking;
    rootKeyForcedDelete @63 :Text;        # what it has sealed or signed is lost; never the active one
    jobVersionTagging @64 :JobVersionTagging;
    csiVolumeRegister @65 :CsiVolumeRegister;
    csiVolumeDeregister @66 :CsiVolumeDeregister;
    csiClaimUpdate @67 :CsiClaimUpdate;
  }
}
