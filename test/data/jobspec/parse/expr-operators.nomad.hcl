job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = 1 + 2 * 3 - 4 / 2 % 3
        b = (1 + 2) * 3
        c = !true || 1 < 2 && 3 >= 3
        d = 1 == "1"
        e = "2" + 1
        f = -(-2)
        g = 0.1 + 0.2
        h = true ? "1" : 2
        i = false ? "x" : 2
        j = 10 / 4
        k = 1 != 2
        l = [1] == [1]
      }
    }
  }
}
