job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = [abs(-1), ceil(1.2), floor(1.8), log(16, 2), max(1, 2), min(1, 2), parseint("ff", 16), pow(2, 8), signum(-5)]
        b = [base64encode("hi"), base64decode("aGk="), csvdecode("a,b\n1,2\n"), jsonencode({ b = [1, "<"], a = null }), jsondecode("{\"a\":[1,true]}"), urlencode("a b&c")]
        c = [md5("a"), sha1("a"), sha256("a"), uuidv5("dns", "example.com")]
        d = [cidrhost("10.0.0.0/8", 2), cidrnetmask("10.0.0.0/12"), cidrsubnet("10.0.0.0/8", 8, 3), cidrsubnets("10.0.0.0/8", 8, 8)]
        e = [try(var.missing, "fallback"), can(upper("a")), convert(["b", "a", "a"], set(string))]
        f = yamldecode("a: [1, yes]\nb: x\n")
        g = yamlencode({ a = [1], b = "x" })
      }
    }
  }
}
