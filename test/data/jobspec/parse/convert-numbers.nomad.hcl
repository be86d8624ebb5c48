job "j" {
  priority = "70"
  group "g" {
    count = "1e1"
    task "t" {
      leader = "1"
      user   = 1000
    }
  }
}
