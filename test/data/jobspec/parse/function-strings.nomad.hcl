job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = [chomp("x\n"), indent(2, "a\nb"), join("-", ["a", "b"], ["c"]), lower("ÄB"), upper("straße"), title("a b")]
        b = [replace("a.b.c", ".", "-"), regex_replace("abc", "(b)", "<$1>"), split(",", "a,b"), strlen("é"), strrev("abc"), reverse("xyz")]
        c = [substr("hello", 1, 3), substr("hello", -3, -1), trim("xxaxx", "x"), trimprefix("abc", "a"), trimsuffix("abc", "c"), trimspace(" a ")]
        d = [formatdate("YYYY-MM-DD", "2020-02-03T04:05:06Z"), timeadd("2020-02-03T04:05:06Z", "90m")]
        e = [format("%5.2f|%-4s|%04d|%x|%q|%v|%t|%%", 3.14159, "ab", 7, 255, "q", [1, "a"], true), formatlist("%s=%d", ["a", "b"], [1, 2])]
      }
    }
  }
}
