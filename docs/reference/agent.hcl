#: The agent
# What an agent is called, where its data is, and what it writes about itself.
region     = "global"       # Whose servers agree with each other; regions are federated by `server join`.
datacenter = "dc1"          # What jobs name in `datacenters`.
name       = "node-1"       # Unique in its region. The host's name, unless it is set.
data_dir   = "/opt/nomad"   # State, allocations and keys: absolute, and this agent's alone.
bind_addr  = "0.0.0.0"      # Where it listens, unless `addresses` says otherwise. Loopback, without TLS, unless it is set.
plugin_dir = "/opt/nomad/plugins"

log_level            = "INFO"   # TRACE, DEBUG, INFO, WARN or ERROR.
log_json             = false    # Lines as JSON objects, with their fields as members.
log_file             = "/var/log/nomad/"   # Besides stderr. A folder, if it ends with a slash.
log_rotate_duration  = "24h"
log_rotate_bytes     = 0        # 0: no bound.
log_rotate_max_files = 0        # 0: all are kept.

leave_on_interrupt = false      # Ctrl-C leaves the cluster for good, instead of being away.
leave_on_terminate = false      # So does SIGTERM.

enable_debug     = false        # Shows /v1/agent/host and profiles without a token.
allow_core_files = false        # A crash leaves a core file, which may hold secrets.

allow_unsafe_bind  = false      # Listens beyond loopback without TLS. For networks that nobody else reaches.
http_allowed_hosts = ["nomad.example.com"]   # Names that requests may give as Host, such as that of a proxy.

http_api_response_headers {
  Access-Control-Allow-Origin = "https://portal.example.com"
}

#: ports
# Three ports. `serf` is shown for tools that ask for it: members find each other by `rpc`.
ports {
  http = 4646
  rpc  = 4647
  serf = 4648
}

#: addresses
# Where each port listens. A go-sockaddr template such as `{{ GetInterfaceIP "eth0" }}` is worked out at the start.
addresses {
  http = "127.0.0.1"
  rpc  = "0.0.0.0"
  serf = "0.0.0.0"
}

#: advertise
# What others are told, where that differs from where the agent listens: behind NAT, or with several interfaces.
advertise {
  http = "10.0.0.5"
  rpc  = "10.0.0.5:4647"
  serf = "10.0.0.5:4648"
}

#: server
# A server keeps the state, agrees on it with the others, and schedules. Run three or five of them.
server {
  enabled            = true
  bootstrap_expect   = 3       # How many servers wait for each other before the first leader. 0: this one joins others.
  non_voting_server  = false   # Has the log and answers reads, without a vote.
  encrypt            = "cg8StVXbQJ0gPvMd9o7yrg=="   # Servers without this key are not let in (`operator gossip keyring generate`).
  authoritative_region = "global"   # Whose policies, roles, tokens and namespaces hold in all regions.
  oidc_issuer        = "https://nomad.example.com"   # Where others find the keys of identities; `iss` of their tokens.

  num_schedulers     = 2       # Evaluations that are worked on at a time. 0: this server schedules nothing.
  enabled_schedulers = ["service", "batch", "system", "sysbatch"]   # All, unless it is set.

  heartbeat_grace           = "10s"   # What a client may be late before it is down.
  min_heartbeat_ttl         = "10s"   # No client is asked more often than that.
  failover_heartbeat_ttl    = "5m"    # What clients have after a change of leader.
  max_heartbeats_per_second = 50.0    # Of all clients; their time grows with their number.

  job_gc_interval         = "5m"      # How often it is looked for what can go.
  job_gc_threshold        = "4h"      # What a dead job stays.
  node_gc_threshold       = "24h"
  eval_gc_threshold       = "1h"
  batch_eval_gc_threshold = "24h"
  deployment_gc_threshold = "1h"
  acl_token_gc_threshold  = "1h"      # Of tokens that have ended.

  job_default_priority      = 50
  job_max_priority          = 100
  job_max_source_size       = "1M"    # Larger files are registered, and not kept as they were written.
  job_max_count             = 50000   # Allocations of one job, all groups together.
  allow_unsupported_blocks  = false   # Blocks without effect are warnings, where jobs would be refused.

  event_buffer_size         = 100     # Events that a stream can go back by.
  raft_snapshot_threshold   = 8192    # Entries after which the log is cut.
  raft_snapshot_interval    = "2m"
  raft_trailing_logs        = 10240   # Entries that stay for followers that were away.
  raft_multiplier           = 1       # Times the timeouts of the log: greater where machines stall.
}

#: server > server_join
# Whom a server joins. The four keys may also stand in `server` itself. Addresses have the port of `ports.rpc`, unless they name one.
server {
  start_join     = []
  retry_join     = []
  retry_max      = 0
  retry_interval = "30s"

  server_join {
    start_join     = ["10.0.0.5"]                  # Once, at the start; it fails if nobody is there.
    retry_join     = ["10.0.0.5", "10.0.0.6"]      # Again and again, until somebody is there.
    retry_max      = 0                             # 0: for ever.
    retry_interval = "30s"
  }
}

#: server > default_scheduler_config
# What a new cluster begins with. Afterwards `operator scheduler set-config` changes it.
server {
  default_scheduler_config {
    scheduler_algorithm             = "binpack"   # Or "spread".
    memory_oversubscription_enabled = false       # Tasks may use up to `memory_max`.
    reject_job_registration         = false       # Only who manages may register.
    pause_eval_broker               = false       # Nothing is scheduled.

    preemption_config {
      system_scheduler_enabled   = true           # Jobs of that type may stop others of lower priority.
      sysbatch_scheduler_enabled = false
      batch_scheduler_enabled    = false
      service_scheduler_enabled  = false
    }
  }
}

#: server > plan_rejection_tracker
# A node that refuses plan after plan becomes ineligible.
server {
  plan_rejection_tracker {
    enabled        = false
    node_threshold = 100    # Refusals within the window.
    node_window    = "5m"
  }
}

#: server > search
# Bounds of the search of the UI and of `/v1/search/fuzzy`.
server {
  search {
    fuzzy_enabled   = true
    limit_query     = 20     # Objects of a kind that are looked at.
    limit_results   = 100    # Matches of a kind that are told.
    min_term_length = 2      # Bytes.
  }
}

#: client
# A client runs what is placed on it. Clients are told apart by name, class, pool and meta.
client {
  enabled    = true
  servers    = ["10.0.0.5:4647"]   # Where its servers are, when it is none itself.
  node_class = "batch"             # Any word: nodes of a class are looked at once.
  node_pool  = "default"           # The one pool that it is in. It is made if it isn't there.
  state_dir  = "/opt/nomad/client"
  alloc_dir  = "/opt/nomad/alloc"

  meta {
    rack = "r1"                    # `${meta.rack}` in constraints.
  }
  options {
    "user.checked_drivers" = "exec,raw_exec"
  }
  chroot_env {
    "/bin" = "/bin"                # What of the host `exec` and `java` show their tasks; a set of folders, unless it is set.
    "/lib" = "/lib"
  }

  network_interface = "eth0"       # Whose address tasks get. That of the default route, unless it is set.
  network_speed     = 0            # Mbit/s. 0: as it is found.
  cpu_total_compute = 0            # MHz of all cores. 0: as they are found.
  memory_total_mb   = 0
  disk_total_mb     = 0
  disk_free_mb      = 0
  min_dynamic_port  = 20000        # From where ports are given to tasks that name none.
  max_dynamic_port  = 32000
  reservable_cores  = "0-7"        # Which cores `resources { cores }` may take.
  cgroup_parent     = "nomad.slice"

  max_kill_timeout    = "30s"      # No task has longer than that after its stop.
  disable_remote_exec = false      # Refuses `alloc exec`.
  nomad_service_discovery = true
  usage_history       = true       # What tasks and the machine have used is kept for a day.

  gc_interval              = "1m"  # How often it is looked whether allocations that have ended must go.
  gc_disk_usage_threshold  = 80.0  # Percent.
  gc_inode_usage_threshold = 70.0
  gc_max_allocs            = 50    # Ended ones whose files are kept.
  gc_parallel_destroys     = 2
  ephemeral_disk_interval  = "1m"  # How often `ephemeral_disk` is measured. 0: never.
  ephemeral_disk_enforce   = false # Stops an allocation that uses more than its group asked for.

  cni_path              = "/opt/cni/bin"
  cni_config_dir        = "/opt/cni/config"
  bridge_network_name   = "nomad"
  bridge_network_subnet = "172.26.64.0/20"
  bridge_network_hairpin_mode        = false
  bind_wildcard_default_host_network = true
}

#: client > reserved
# What is left to the system: the scheduler gives none of it away.
client {
  reserved {
    cpu            = 500     # MHz.
    memory         = 512     # MiB.
    disk           = 1024    # MiB.
    cores          = "0"
    reserved_ports = "22,80,8500-8600"
  }
}

#: client > host_volume
# A folder that groups ask for by name (`volume { type = "host" }`). It must be there when the agent starts.
client {
  host_volume "certificates" {
    path      = "/etc/ssl/certs"
    read_only = true
  }
}

#: client > host_network
# A name for addresses of the machine, for ports with `host_network`.
client {
  host_network "private" {
    cidr           = "10.0.0.0/8"
    interface      = "eth1"
    reserved_ports = "22"
  }
}

#: client > server_join
# The same as `servers`, in the words of servers. A client tries them for ever, once a second.
client {
  server_join {
    start_join = ["10.0.0.5"]
    retry_join = ["10.0.0.6"]
  }
}

#: client > template
# Bounds of the templates of tasks.
client {
  template {
    function_denylist    = ["plugin", "writeToFile"]   # Functions that no template has; `function_blacklist` is an older word.
    function_blacklist   = []
    disable_file_sandbox = false     # Templates read files of the host.
    block_query_wait     = "5m"      # How long a question for changes is held.
    max_stale            = "87600h"

    wait {                           # How long changes gather before a template is made anew.
      min = "5s"
      max = "4m"
    }
    wait_bounds {                    # What jobs may ask for.
      min = "1s"
      max = "10m"
    }
    nomad_retry {
      attempts    = 0                # 0: for ever.
      backoff     = "250ms"
      max_backoff = "1m"
    }
  }
}

#: client > artifact
# Bounds of what tasks fetch.
client {
  artifact {
    http_read_timeout              = "30m"
    http_max_size                  = "100GB"
    gcs_timeout                    = "30m"
    git_timeout                    = "30m"
    hg_timeout                     = "30m"
    s3_timeout                     = "30m"
    decompression_size_limit       = "100GB"
    decompression_file_count_limit = 4096
    disable_filesystem_isolation   = false    # The program that fetches sees the host's files.
    set_environment_variables      = "HTTPS_PROXY"   # Names of what it gets of the agent's environment.
    allow_loopback                 = true     # Whether artifacts may come from 127.0.0.0/8,
    allow_link_local               = false    # from 169.254.0.0/16, where clouds tell machines their keys,
    allow_agent_api                = false    # and from this agent's own ports.
  }
}

#: client > drain_on_shutdown
# The node is drained when its agent is stopped by SIGTERM or SIGINT, with `leave_on_…`.
client {
  drain_on_shutdown {
    deadline           = "1h"
    force              = false
    ignore_system_jobs = false
  }
}

#: autopilot
# What the leader does about dead servers. `operator autopilot set-config` changes it later.
autopilot {
  cleanup_dead_servers      = true
  last_contact_threshold    = "200ms"
  max_trailing_logs         = 250
  min_quorum                = 3
  server_stabilization_time = "10s"    # What a new server is healthy before it has a vote.
}

#: keyring
# What wraps root keys. The label is the provider, `file` or `transit` (of Vault); the active one wraps from now on.
keyring "file" {
  active = true
  path   = "/etc/nomad.d/wrapping.key"
  create = true                        # The key is made if there is none.
  older  = ["/etc/nomad.d/wrapping-2025.key"]
}
keyring "transit" {
  active          = false
  address         = "https://vault.example.com:8200"
  token           = "s.secret"
  key_name        = "nomad"
  mount_path      = "transit/"
  namespace       = ""
  tls_ca_cert     = "/etc/nomad.d/vault-ca.pem"
  tls_server_name = "vault.example.com"
}

#: tls
# Certificates of this agent, and what it asks of others. Files are PEM; SIGHUP reads them again.
tls {
  http      = true
  rpc       = true
  ca_file   = "/etc/nomad.d/ca.pem"
  cert_file = "/etc/nomad.d/server.pem"
  key_file  = "/etc/nomad.d/server-key.pem"

  verify_server_hostname = true     # Certificates must name role and region: server.global.nomad.
  verify_https_client    = false    # Who uses the API needs a certificate.
  tls_min_version        = "tls12"  # Or tls13.
  tls_prefer_server_cipher_suites = false
}

#: acl
# Who may do what ([security](security.md)).
acl {
  enabled    = true
  token_ttl  = "30s"     # How long an agent without state believes what it knows of a token,
  policy_ttl = "30s"     # a policy,
  role_ttl   = "30s"     # a role.
  token_min_expiration_ttl = "1m"
  token_max_expiration_ttl = "24h"
  replication_token        = "secret"   # By which servers of another region read those of the authoritative one.
}

#: audit
# A line for each call that comes, and one for what became of it ([security](security.md)).
audit {
  enabled = true

  sink "file" {
    type               = "file"
    delivery_guarantee = "enforced"     # Nothing happens that could not be written. Or "best-effort".
    format             = "json"
    path               = "/var/log/nomad/audit.log"
    mode               = "0600"
    rotate_bytes       = 104857600
    rotate_duration    = "24h"
    rotate_max_files   = 0
  }
  filter "metrics" {                    # What is not written.
    type       = "HTTPEvent"
    endpoints  = ["/v1/metrics"]
    stages     = ["*"]
    operations = ["GET"]
  }
}

#: telemetry
# What `/v1/metrics` shows ([monitoring](operations.md)).
telemetry {
  prometheus_metrics         = true     # Also as text for Prometheus, by ?format=prometheus.
  disable_hostname           = false    # Names without the host's.
  publish_allocation_metrics = false    # Also what each task uses.
  collection_interval        = "1s"
  disable_rpc_rate_metrics_labels = false
}

#: limits
# What one client may ask of an agent. 0 is no bound.
limits {
  http_max_conns_per_client = 100
  http_max_conns            = 16384    # From all clients together.
  http_max_body_mb          = 16
  http_read_timeout         = "10s"    # For a header, and between parts of a body.
  http_idle_timeout         = "2m"     # Between requests of a connection.
  rpc_max_conns_per_client  = 100
  rpc_handshake_timeout     = "5s"
  snapshot_max_mb           = 4096     # Of the archive that a restore sends.
  job_max_kb                = 4096     # Of all texts of a job.
  job_env_max_kb            = 1024     # Of one block of env or meta.
  namespace_jobs_max_mb     = 1024     # Of the jobs of a namespace.
  text_max_kb               = 64       # Of messages and meta of requests.

  rpc_rate {                           # How often one identity may ask in a second.
    mode        = "enforcing"          # Or "permissive": who asks too often is counted alone.
    read_rate   = 200
    read_burst  = 400
    write_rate  = 50
    write_burst = 100
  }
}

#: ui
# The [web UI](web-ui.md).
ui {
  enabled = true
  label {                              # Which cluster this is, in the head of each page.
    text             = "staging"
    background_color = "#ffd54a"
    text_color       = "#1b1f24"
  }
  content_security_policy {
    frame_ancestors = ["https://portal.example.com"]
  }
}

#: plugin > raw_exec
# Settings of drivers ([drivers](drivers.md)). A plugin of `plugin_dir` has a block of its own name ([plugins](plugins.md)).
plugin "raw_exec" {
  config {
    enabled    = true      # Tasks run as they are, with the rights of the agent.
    no_cgroups = false
  }
}
plugin "mock_driver" {     # Pretends to run tasks, for tests of clusters.
  config {
    enabled = false
  }
}

#: plugin > exec
# Tasks in namespaces of their own, below the files of `client.chroot_env`.
plugin "exec" {
  config {
    no_pivot_root    = false        # For machines whose root is a ramdisk.
    default_pid_mode = "private"    # Or "host".
    default_ipc_mode = "private"
    allow_caps       = ["chown", "kill", "net_bind_service"]   # What tasks may ask for.
    no_new_privs     = true         # No program gets more rights by being started.
    seccomp          = true         # System calls that no task needs are refused.
    pids_limit       = 0            # Processes of a task. 0: no bound.
  }
}

#: plugin > java
plugin "java" {
  config {
    default_pid_mode = "private"
    default_ipc_mode = "private"
    allow_caps       = ["chown", "kill", "net_bind_service"]
    no_pivot_root    = false
    no_new_privs     = true
    seccomp          = true
    pids_limit       = 0
  }
}

#: plugin > qemu
plugin "qemu" {
  config {
    image_paths    = ["/srv/images"]      # Where images may be, besides in allocations.
    args_allowlist = ["-display", "-vnc"] # What tasks may pass on. All, unless it is set.
  }
}

#: plugin > docker
plugin "docker" {
  config {
    endpoint = "unix:///var/run/docker.sock"
    auth {
      config = "/root/.docker/config.json"
      helper = "ecr-login"               # Asks docker-credential-ecr-login.
    }
    extra_labels = ["job_name", "task_group_name", "task_name"]
    logging {                            # Of containers that say nothing of it.
      type = "json-file"
      config {
        max-size = "2m"
        max-file = "2"
      }
    }
    disable_log_collection = false
    gc {
      image       = true                 # Images that no task uses any more go,
      image_delay = "3m"                 # after that time.
      container   = true                 # Containers that have ended go.
      dangling_containers {              # Containers that nobody knows any more.
        enabled        = true
        dry_run        = false
        period         = "5m"
        creation_grace = "5m"
      }
    }
    volumes {
      enabled      = true                # Tasks may mount folders of the host.
      selinuxlabel = "z"
    }
    allow_privileged         = false
    allow_caps               = ["chown", "kill", "net_bind_service"]
    allow_runtimes           = ["runc"]
    infra_image              = "registry.k8s.io/pause:3.3"
    infra_image_pull_timeout = "5m"
    pull_activity_timeout    = "2m"      # A pull that brings nothing for so long has failed.
    pids_limit               = 0
  }
}
