job "j" {
  datacentres = ["x"]
}
