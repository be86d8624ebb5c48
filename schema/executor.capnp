# What the agent and nomadctl-executor say to each other over the executor's Unix socket.
#
# Each message is one `Message` in Cap'n Proto's flat form, after its length in bytes as four
# bytes, little end first. The agent opens with `hello`; the executor answers `welcome` with the
# newest version that both speak, and what runs. Later releases add fields and union members at the
# end; a member that a receiver does not know is answered by `failed`.
#
# Version 2: an exit has a reason where its code does not tell it. Version 3: a start may ask for
# isolation, which must not be asked of an executor that does not know it.
@0xc0f5b2a7d4e18a31;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::executor");

struct Message {
  id @0 :UInt32;  # Chosen by the agent for a request; repeated in its answer.
  union {
    hello @1 :Hello;
    welcome @2 :Welcome;
    start @3 :Start;
    started @4 :Process;
    signal @5 :Int32;        # To the task's main process.
    stop @6 :Stop;
    acknowledge @7 :Void;    # The exit status is recorded; end.
    done @8 :Void;           # Answer of signal, stop and acknowledge.
    failed @9 :Failure;      # Answer of any request.
    exited @10 :Exit;        # Unasked, to every connection; of an exec, to its own socket.
    exec @11 :Exec;
    execStarted @12 :Void;   # Its answer, with descriptors (SCM_RIGHTS).
  }
}

struct Hello {
  minVersion @0 :UInt16;
  maxVersion @1 :UInt16;
}

struct Welcome {
  version @0 :UInt16;  # 0: none in common; the executor then closes.
  executorPid @1 :Int32;
  runId @2 :Text;      # Empty while nothing was started.
  process @3 :Process;
  exit @4 :Exit;       # Null while it runs.
}

struct Process {
  pid @0 :Int32;
  startTicks @1 :UInt64;
  bootId @2 :Text;
  startedAt @3 :Int64;  # Unix nanoseconds.
}

struct Exit {
  code @0 :Int32;       # 128 + signal when a signal ended it.
  signal @1 :Int32;
  oomKilled @2 :Bool;
  finishedAt @3 :Int64;
  reason @4 :Text;      # For people; empty: the code says it. From version 2.
}

struct Failure {
  what @0 :Text;
  errorNumber @1 :Int32;
  mayPass @2 :Bool;     # The program is there; what it needs to be executed (its interpreter) is not.
}

struct Stop {
  signal @0 :Int32;
  graceMs @1 :UInt64;
}

struct Start {
  runId @0 :Text;
  command @1 :Text;
  arguments @2 :List(Text);
  environment @3 :List(Text);
  taskDirectory @4 :Text;
  searchPath @5 :Text;
  user @6 :User;            # Null: the executor's.
  logs @7 :Logs;            # Null: /dev/null.
  limits @8 :List(Limit);
  networkNamespace @9 :Text;  # Path of the one to enter; empty: the executor's. Opened at the start
                            # alone: commands beside the task enter the one that the task is in.
  cgroupDirectories @10 :List(Text);
  cgroupUnified @11 :Text;  # One of them, of version 2.
  oomEvents @12 :Text;      # File with a line "oom_kill <count>".
  cgroupShared @13 :Text;   # To be joined, too; others are in it. Empty: none.
  isolation @14 :Isolation; # Null: the task lives as the executor does. From version 3.
}

# How the task is isolated. The executor does what stands here, in this order, and decides nothing.
struct Isolation {
  root @0 :Text;            # Directory of the host that becomes the task's "/".
  pivot @1 :Bool;           # By pivot_root(2); false: moved over the old root.
  privatePids @2 :Bool;
  privateIpc @3 :Bool;
  mounts @4 :List(Mount);
  rootAttributes @5 :UInt64;  # MOUNT_ATTR_… of the root.
  programs @6 :List(Text);  # Paths in the task at which the command may be; the first that is there.
  capabilities @7 :UInt64;  # All that the task ever has; a bit for each, by number.
  ambient @8 :Bool;         # They stay with a user who is not root.
  noNewPrivileges @9 :Bool;
  filter @10 :Data;         # Of system calls: a seccomp program (struct sock_filter[]). Empty: none.
}

struct Mount {
  kind @0 :Kind;
  target @1 :Text;          # In the task, absolute. Made when it is not there, if not said otherwise.
  source @2 :Text;
  options @3 :List(Text);   # "name=value" or "name"; of new file systems.
  attributes @4 :UInt64;    # MOUNT_ATTR_…
  propagation @5 :UInt64;   # MS_PRIVATE, …
  work @6 :Text;            # Of an overlay.

  enum Kind {
    bind @0;                # `source` is a directory or file of the host, with all that is mounted below.
    overlay @1;             # `source`, a directory of the host, below what the task's root has there.
    fresh @2;               # A new file system of the type `source`.
    link @3;                # A symbolic link that says `source`; left out where something is.
    mask @4;                # Nothing is to be seen there; left out where nothing is.
    readOnly @5;            # What is there can't be written; left out where nothing is.
  }
}

# Another command in the task's isolation, with its standard streams in the agent's hands. `execStarted`
# brings the session's own socket and then the terminal's master, or the ends of standard input,
# output and error. The socket brings `exited` when the command ends; closing it kills the command.
struct Exec {
  command @0 :List(Text);  # The program, and its arguments.
  directory @1 :Text;
  tty @2 :Bool;
}

struct User {
  uid @0 :UInt32;
  gid @1 :UInt32;
  groups @2 :List(UInt32);
}

struct Logs {
  allocRoot @0 :Text;  # Files are "<allocRoot>/alloc/logs/<task>.stdout.<n>".
  task @1 :Text;
  maxFiles @2 :UInt32;
  maxFileBytes @3 :UInt64;
}

struct Limit {
  resource @0 :Int32;
  soft @1 :UInt64;
  hard @2 :UInt64;
}
