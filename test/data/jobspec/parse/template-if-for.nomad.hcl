job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = "%{ if true }yes%{ else }no%{ endif }"
        B = "%{ for v in ["x", "y"] }<${v}>%{ endfor }"
        C = "%{ for k, v in { b = 2, a = 1 } }${k}=${v};%{ endfor }"
        D = "a ${~ 1 ~} b"
      }
    }
  }
}
