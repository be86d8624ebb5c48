job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        plain    = "x"
        port_map = { http = 80 }
        empty    = {}
        deep     = [{ a = { b = 1 } }, { c = 2 }]
        mixed    = ["a", { b = 1 }]
        gone     = null
        computed = merge({ a = 1 }, {})
        logging {
          type = "journald"
          config {
            tag = "t"
          }
        }
        mount {
          source = "a"
        }
        mount {
          source = "b"
        }
        check "p" {
          strategy "s" {
            t = 1
          }
        }
        dynamic "x" {
          for_each = [1]
          content {
            v = x.value
          }
        }
      }
    }
  }
}
