variable "ports" {
  default = { http = 80, https = 443 }
}
job "j" {
  dynamic "group" {
    for_each = ["a", "b"]
    labels   = ["g-${group.value}"]
    content {
      count = group.key
      network {
        dynamic "port" {
          for_each = var.ports
          iterator = p
          labels   = [p.key]
          content {
            static = p.value
          }
        }
      }
      dynamic "task" {
        for_each = ["t1"]
        labels   = ["${group.value}-${task.value}"]
        content {
          driver = "exec"
          config {
            who = "${group.value}/${task.value}"
          }
          dynamic "env" {
            for_each = [1]
            content {
              K = "${group.value}${env.value}"
            }
          }
        }
      }
      dynamic "constraint" {
        for_each = []
        content {
          distinct_hosts = true
        }
      }
    }
  }
}
