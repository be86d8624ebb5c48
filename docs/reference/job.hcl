#: job
# A file has one job. Its label is the ID; a name may differ. What stands in `meta`, `constraint`, `affinity`, `spread`, `update`,
# `reschedule` and `migrate` holds for all groups that don't say otherwise.
job "web" {
  id          = "web"            # The label, unless it is set.
  name        = "web"
  region      = "global"
  namespace   = "default"        # `-namespace` says where it goes, if the file does not.
  datacenters = ["dc1", "eu-*"]  # Where it may run; `*` is any text. All, unless it is set.
  node_pool   = "default"
  type        = "service"        # Or "batch" (to its end), "system" (on every node), "sysbatch" (both).
  priority    = 50               # 1 to `job_max_priority`: who is placed first, and may preempt.
  all_at_once = false            # Nothing is placed until all can be.

  meta {
    owner = "team-a"             # `${NOMAD_META_owner}` in tasks.
  }
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }
  affinity {
    attribute = "${node.class}"
    value     = "fast"
  }
  spread {
    attribute = "${node.datacenter}"
  }
  update {}
  reschedule {}
  migrate {}

  group "app" {
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1d"]
      }
    }
  }
}

#: job > constraint
# Where it may run at all; also of groups and tasks. Operators: `=`, `!=`, `>`, `>=`, `<`, `<=`, `regexp`, `version`, `semver`,
# `is_set`, `is_not_set`, `set_contains`, `set_contains_any`, `distinct_hosts`, `distinct_property`.
constraint {
  attribute = "${attr.nomad.version}"
  operator  = "version"
  value     = ">= 1.6"
}
constraint {
  operator = "distinct_hosts"
  value    = "true"
}

#: job > affinity
# Where it would rather run. A negative weight is where it would rather not.
affinity {
  attribute = "${meta.rack}"
  operator  = "="
  value     = "r1"
  weight    = 75               # -100 to 100.
}

#: job > spread
# How its allocations are parted by an attribute. Without targets: evenly.
spread {
  attribute = "${node.datacenter}"
  weight    = 100

  target "dc1" {
    percent = 70
  }
  target "dc2" {
    percent = 30
  }
}

#: job > update
# How a new version takes the place of the old one; also of groups. System jobs change `max_parallel` nodes each `stagger`, and have a
# deployment if they ask for canaries (then a percentage of the nodes) or to be reverted.
update {
  max_parallel      = 2           # Allocations at a time. 0: all at once, without a deployment.
  canary            = 1           # As many of the new version run beside the old one until they are promoted.
  auto_promote      = false       # Healthy canaries are promoted by themselves.
  auto_revert       = true        # A deployment that fails goes back to the last stable version.
  health_check      = "checks"    # Or "task_states", or "manual".
  min_healthy_time  = "10s"
  healthy_deadline  = "5m"
  progress_deadline = "10m"       # 0: one allocation that fails ends the deployment.
  stagger           = "30s"
}

#: job > reschedule
# What happens when an allocation has failed for good on its node; also of groups.
reschedule {
  attempts       = 3
  interval       = "1h"
  delay          = "30s"
  delay_function = "exponential"  # Or "constant", or "fibonacci".
  max_delay      = "10m"
  unlimited      = false          # Then without attempts and interval.
}

#: job > migrate
# How allocations leave a node that is drained; also of groups.
migrate {
  max_parallel     = 1
  health_check     = "checks"
  min_healthy_time = "10s"
  healthy_deadline = "5m"
}

#: job > periodic
# Launches the job again and again. For batch and sysbatch.
periodic {
  enabled          = true
  cron             = "*/15 * * * *"  # Or several, as `crons`.
  time_zone        = "Europe/Zurich"
  prohibit_overlap = true            # Not while the last launch still runs.
}

#: job > periodic, several
periodic {
  crons = ["0 6 * * *", "@weekly"]
}

#: job > parameterized
# Runs when it is dispatched, with a payload and meta of that call. For batch and sysbatch.
parameterized {
  payload       = "required"         # Or "optional", or "forbidden".
  meta_required = ["input"]
  meta_optional = ["quality"]
}

#: job > ui
# What the web UI shows of a job, as later releases of Nomad have it.
ui {
  description = "The shop's *front end*"
  link {
    label = "Dashboard"
    url   = "https://grafana.example.com/d/shop"
  }
}

#: job > group
# Tasks that are placed on one node together.
group "app" {
  count = 3

  constraint {
    attribute = "${attr.cpu.arch}"
    value     = "amd64"
  }
  affinity {
    attribute = "${node.class}"
    value     = "fast"
  }
  spread {
    attribute = "${meta.rack}"
  }
  meta {
    tier = "front"
  }
  shutdown_delay = "5s"       # Between the end of its services and the stop of its tasks.

  max_client_disconnect       = "1h"   # The short form of `disconnect`.
  prevent_reschedule_on_lost  = false  # Allocations on a node that is lost are not replaced.

  restart {}
  reschedule {}
  update {}
  migrate {}
  ephemeral_disk {}
  network {}
  service {
    provider = "nomad"
  }
  volume "data" {
    type   = "host"
    source = "data"
  }
  scaling {
    max = 10
  }
  consul {}
  task "server" {
    driver = "raw_exec"
    config {
      command = "/bin/sleep"
    }
  }
}

#: job > group, stopped by its node
group "app" {
  stop_after_client_disconnect = "10m"   # The node stops them itself when it has not reached a server for so long.
  task "server" {
    driver = "raw_exec"
    config {
      command = "/bin/sleep"
    }
  }
}

#: job > group > disconnect
# What becomes of allocations whose node is away, and what when it is back.
disconnect {
  lost_after = "6h"             # Until then they are unknown, afterwards lost.
  replace    = true             # Others run in their place meanwhile.
  reconcile  = "best_score"     # Who stays: also "longest_running", "keep_original", "keep_replacement".
}

#: job > group > disconnect, stopped by its node
disconnect {
  stop_on_client_after = "10m"
}

#: job > group > restart
# What happens when a task has failed; also of tasks. Then `reschedule` has its turn.
restart {
  attempts         = 2
  interval         = "30m"
  delay            = "15s"
  mode             = "fail"    # Or "delay": on with the next interval.
  render_templates = false     # Templates are made anew at each restart.
}

#: job > group > ephemeral_disk
ephemeral_disk {
  size    = 300       # MiB.
  sticky  = true      # The next version is placed on the same node, and gets the files.
  migrate = true      # It gets them from another node, too.
}

#: job > group > volume
# A volume of the node (`client > host_volume`) that tasks mount.
volume "data" {
  type      = "host"
  source    = "certificates"
  read_only = true
  per_alloc = false            # `source` is followed by the index: data[0], data[1].
  access_mode     = ""         # Of CSI volumes: "single-node-writer", …
  attachment_mode = ""         # "file-system" or "block-device".
  mount_options {
    fs_type     = "ext4"
    mount_flags = ["noatime"]
  }
}

#: job > group > network
# Ports and addresses that the group has to itself.
network {
  mode     = "bridge"           # Or "host", "none", "cni/<name>".
  hostname = "web-${NOMAD_ALLOC_INDEX}"
  mbits    = 10                 # Counted by nobody, as in Nomad.

  port "http" {
    to = 8080                   # The port in the group's own network.
  }
  port "admin" {
    static           = 9000     # The port of the node.
    to               = 9000
    host_network     = "private"
    ignore_collision = false    # Several allocations share it (SO_REUSEPORT).
  }
  dns {
    servers  = ["1.1.1.1"]
    searches = ["internal"]
    options  = ["ndots:2"]
  }
}

#: job > group > network, as old files have it
# The scheduler chooses device and address, whatever is asked for; a port's `static` is what `reserved_ports` were.
network {
  device = "eth0"
  cidr   = "10.0.0.0/8"
  ip     = "10.0.0.5"
  reserved_ports "ssh" {
    static = 22
  }
}

#: job > group > service
# A name under which others find a port; also of tasks. Provider is `nomad`, or one of a plugin.
service {
  name         = "web"           # `${JOB}-${GROUP}-${TASK}`, unless it is set.
  provider     = "nomad"
  port         = "http"
  tags         = ["v1", "public"]
  canary_tags  = ["canary"]
  address_mode = "auto"          # Or "host", "alloc", "driver".
  address      = ""              # An address of its own, instead.
  task         = ""              # Whose logs and shell its script checks use.
  on_update    = "require_healthy"   # Or "ignore", "ignore_warnings": what counts for a deployment.

  check {
    type     = "http"
    path     = "/health"
    interval = "10s"
    timeout  = "2s"
  }
  check_restart {                # What holds for checks that don't say otherwise.
    limit = 3
  }
  identity {
    aud = ["example.com"]
  }
}

#: job > group > service > check
check {
  name         = "alive"
  type         = "http"           # Or "tcp", "grpc", "script", by provider.
  port         = "http"
  address_mode = "auto"
  protocol     = "https"
  path         = "/health"
  method       = "POST"
  body         = "{}"
  interval     = "10s"
  timeout      = "2s"
  on_update    = "require_healthy"
  advertise    = ""              # Of Consul's TTL checks.
  tls_server_name = "web.internal"
  tls_skip_verify = true

  header {
    Authorization = ["Basic Zm9vOmJhcg=="]
  }
  check_restart {
    limit           = 3           # Failures in a row, after which the task is restarted.
    grace           = "90s"       # What it has after its start.
    ignore_warnings = false
  }
}

#: job > group > service > check, by gRPC and by script
check {
  type         = "grpc"
  grpc_service = "health"
  grpc_use_tls = true
  interval     = "10s"
  timeout      = "2s"
}
check {
  type     = "script"
  task     = "server"
  command  = "/bin/test"
  args     = ["-e", "/tmp/ready"]
  interval = "10s"
  timeout  = "2s"
}

#: job > group > scaling
# Between which counts an autoscaler, or `job scale`, may choose; the rest is the autoscaler's.
scaling {
  enabled = true
  type    = "horizontal"
  min     = 1
  max     = 10
  policy {
    cooldown = "1m"
  }
}

#: job > group > task
# A program that a driver runs ([drivers](drivers.md)).
task "server" {
  driver = "exec"
  user   = "nobody"
  leader = true                 # When it ends, the other tasks are stopped.
  kill_timeout   = "20s"        # Between the signal and the end.
  kill_signal    = "SIGINT"
  shutdown_delay = "5s"         # Between the end of its services and the signal.

  config {                      # What it holds is the driver's.
    command = "/usr/bin/python3"
    args    = ["-m", "http.server", "${NOMAD_PORT_http}"]
  }
  env {
    GREETING = "hello"
  }
  meta {
    role = "server"
  }
  constraint {
    attribute = "${attr.driver.exec}"
    value     = "1"
  }
  affinity {
    attribute = "${node.class}"
    value     = "fast"
  }
  lifecycle {
    hook = "poststart"
  }
  resources {}
  restart {}
  logs {}
  service {
    provider = "nomad"
  }
  artifact {
    source = "https://example.com/site.tar.gz"
  }
  template {
    data        = "x"
    destination = "local/x"
  }
  volume_mount {
    volume      = "data"
    destination = "/data"
  }
  csi_plugin {
    id   = "disks"
    type = "monolith"
  }
  dispatch_payload {
    file = "input.json"
  }
  identity {
    env = true
  }
  action "reload" {
    command = "/bin/kill"
    args    = ["-HUP", "1"]
  }
  schedule {
    cron {
      start = "0 9 * * MON-FRI *"
      end   = "0 17"
    }
  }
}

#: job > group > task > lifecycle
# When it runs beside the main tasks.
lifecycle {
  hook    = "prestart"          # Or "poststart", "poststop".
  sidecar = false               # It runs on, and is restarted when it ends.
}

#: job > group > task > resources
# What it is given. Without `cores`, `cpu` is its share when others want the same.
resources {
  cpu        = 500              # MHz.
  memory     = 256              # MiB.
  memory_max = 512              # MiB: what it may use where memory is oversubscribed.
  disk       = 0
  iops       = 0

  network {
    port "http" {}
  }
  device "nvidia/gpu" {
    count = 1
  }
}

#: job > group > task > resources, whole cores
resources {
  cores  = 2                    # To itself, instead of `cpu`.
  memory = 256
}

#: job > group > task > resources > device
# A device that a plugin finds: `<vendor>/<type>/<name>`, or a part of it.
device "nvidia/gpu" {
  count = 2
  constraint {
    attribute = "${device.attr.memory}"
    operator  = ">="
    value     = "4 GiB"
  }
  affinity {
    attribute = "${device.model}"
    value     = "Tesla P100"
    weight    = 50
  }
}

#: job > group > task > logs
logs {
  max_files     = 10            # Of stdout and stderr each.
  max_file_size = 10            # MiB.
  disabled      = false
  enabled       = true          # The same, as old files have it.
}

#: job > group > task > artifact
# Files that are fetched before the task starts: http, https, git, hg, s3, gcs.
artifact {
  source      = "https://example.com/site.tar.gz"
  destination = "local/site"
  mode        = "any"           # Or "file", "dir": archives are unpacked, unless it is "file".
  insecure    = false           # Takes any certificate.
  chown       = false           # The files belong to the task's user.
  options {
    checksum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  }
  headers {
    User-Agent = "nomad"
  }
}

#: job > group > task > template
# A file that is made of variables and services, and made anew when these change.
template {
  data          = <<EOT
{{ range nomadService "db" }}db={{ .Address }}:{{ .Port }}{{ end }}
EOT
  destination   = "secrets/app.env"
  env           = true               # Its lines are environment variables of the task.
  change_mode   = "restart"          # Or "noop", "signal", "script".
  splay         = "5s"               # At most so long is waited, by chance.
  perms         = "0600"
  uid           = 1000
  gid           = 1000
  left_delimiter       = "{{"
  right_delimiter      = "}}"
  error_on_missing_key = false
  vault_grace          = "0s"
  once                 = false       # Made once, and never anew.

  wait {
    min = "5s"
    max = "30s"
  }
}

#: job > group > task > template, from a file
template {
  source        = "local/app.tmpl"   # What an artifact brought, say.
  destination   = "local/app.conf"
  change_mode   = "signal"
  change_signal = "SIGHUP"
}

#: job > group > task > template > wait
# How long changes gather before the file is made anew.
wait {
  min = "5s"
  max = "30s"
}

#: job > group > task > template > change_script
# A program in the task that is run after a change (`change_mode = "script"`).
change_script {
  command             = "/local/reload.sh"
  args                = ["-quiet"]
  timeout             = "5s"
  fail_on_error       = false        # The task ends when it fails.
  run_on_first_render = false        # Also when the file is made for the first time.
}

#: job > group > task > volume_mount
volume_mount {
  volume           = "data"
  destination      = "/data"
  read_only        = false
  propagation_mode = "private"       # Or "host-to-task", "bidirectional".
}

#: job > group > task > csi_plugin
# The task is a storage plugin that speaks CSI.
csi_plugin {
  id                     = "disks"
  type                   = "monolith"   # Or "node", "controller".
  mount_dir              = "/csi"
  stage_publish_base_dir = "/local/csi"
  health_timeout         = "30s"
}

#: job > group > task > identity
# A token by which the task says who it is. Without a name: Nomad's own; with one: for others.
identity {
  name          = "vault"
  aud           = ["vault.example.com"]
  env           = true                # NOMAD_TOKEN_vault.
  file          = true                # secrets/nomad_vault.jwt, unless `filepath` says otherwise.
  filepath      = "secrets/token.jwt"
  ttl           = "1h"                # Renewed before it ends.
  change_mode   = "signal"            # Or "noop", "restart".
  change_signal = "SIGHUP"
  service_name  = ""
}

#: job > group > task > action
# A command that users run by its name (`nomadctl action`), without knowing it.
action "migrate-database" {
  command = "/local/migrate"
  args    = ["-up"]
}

#: job > group > task > schedule
# When it runs. Outside of that it is paused: stopped by its `kill_signal`, which counts as no failure and no restart, and
# started again at the next start; what it has reserved stays its own. A paused task is healthy to deployments. `nomadctl alloc pause`
# overrides the schedule. Not of poststop tasks.
schedule {
  cron {
    start    = "0 9 * * MON-FRI *"    # Minute, hour, day, month, weekday and year, without `,` and `/`.
    end      = "0 17"                 # Minute and hour, later on the same day.
    timezone = "Europe/Zurich"        # The node's, unless it is set.
  }
}

#: job > group > task > dispatch_payload
# Where a dispatched job's payload goes, below the task's `local/`.
dispatch_payload {
  file = "input.json"
}

#: job > group > consul
consul {
  namespace = ""
}
