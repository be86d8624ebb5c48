job "j" {
  meta = { "a.b" = 1, c = true }
  group "g" {
    meta {
      x = 1.5
      y = "z"
    }
    task "t" {
      env  = { "K.V" = "1" }
      meta {}
    }
  }
}
