job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = 1
        b = 1.50
        c = 1e3
        d = 2.5E-3
        e = 007
        f = -3
        g = 9007199254740993
        h = 1.0
        i = 123456789012345678901234567890
      }
    }
  }
}
