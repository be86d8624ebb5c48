job "web" {
  datacentres = ["dc1"]

  gruop "api" {
    count = 2
  }

  group "cache" {
    count = lenght([1, 2])

    task "redis" {
      drivr = "docker"
    }
  }
}
