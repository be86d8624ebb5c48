job "j" {
  update {
    max_parallel = 0
    auto_revert  = true
  }
  reschedule {
    delay     = "10s"
    unlimited = false
  }
  migrate {
    min_healthy_time = "1s"
  }
  group "g" {
    update {
      canary = 2
    }
    reschedule {
      attempts = 4
    }
    migrate {
      max_parallel = 5
    }
    restart {
      attempts = 9
    }
    task "t" {
      restart {
        mode             = "delay"
        render_templates = true
      }
    }
  }
  group "h" {
    task "t" {}
  }
}
