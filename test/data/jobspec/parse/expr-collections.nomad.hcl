job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = [1, 2, ]
        b = { x = 1, "y z" : 2, (upper("k")) = 3, "a${1}" = 4 }
        c = {
          p = 1
          q = 2,
          1 = "n"
        }
        d = [for v in ["a", "b"] : upper(v) if v != "a"]
        e = [for i, v in ["a", "b"] : "${i}${v}"]
        f = { for k, v in { a = 1, b = 2 } : k => v * 2 }
        g = { for v in ["x", "yy", "zz"] : strlen(v) => v... }
        h = [{ n = 1 }, { n = 2 }].*.n
        i = [{ n = [1, 2] }][*].n[0]
        j = ["a", "b"][1]
        k = { a = { b = "c" } }.a.b
        l = { a = { b = "c" } }["a"]["b"]
        m = ["z"].0
        n = null[*]
        o = "s"[*]
      }
    }
  }
}
