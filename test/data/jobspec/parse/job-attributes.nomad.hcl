job "j" {
  id           = "the-id"
  name         = "the name"
  type         = "batch"
  region       = "eu"
  namespace    = "ns"
  priority     = 80
  datacenters  = ["dc*"]
  node_pool    = "gpu"
  all_at_once  = true
  consul_token = "ct"
  vault_token  = "vt"
  reschedule {
    attempts = 3
    interval = "1h"
  }
  migrate {
    max_parallel = 2
  }
  update {
    canary = 1
  }
  periodic {
    crons            = ["@daily", "*/5 * * * *"]
    prohibit_overlap = true
    time_zone        = "Europe/Berlin"
  }
  parameterized {
    payload       = "required"
    meta_required = ["a"]
    meta_optional = ["b"]
  }
  multiregion {
    strategy {
      max_parallel = 1
      on_failure   = "fail_all"
    }
    region "west" {
      count       = 2
      datacenters = ["w1"]
      node_pool   = "p"
      meta {
        k = "v"
      }
    }
    region "east" {}
  }
  task "bare" {
    driver = "raw_exec"
  }
  vault {
    policies = ["p"]
  }
  group "g" {
    task "t" {
      driver = "exec"
    }
    vault {
      policies      = ["of-group"]
      change_mode   = "signal"
      change_signal = "SIGUSR1"
    }
  }
  group "h" {
    task "t" {
      driver = "exec"
      vault {
        policies     = ["of-task"]
        env          = false
        disable_file = true
        namespace    = "n"
      }
    }
  }
}
