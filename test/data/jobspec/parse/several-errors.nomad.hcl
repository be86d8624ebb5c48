job "j" {
  datacentres = ["x"]
  group "g" {
    cuont = 1
    task "t" {
      drivr = "x"
      resources {
        cpu = "many"
      }
    }
  }
}
