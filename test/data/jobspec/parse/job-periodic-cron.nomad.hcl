job "j" {
  type = "batch"
  periodic {
    cron    = "@hourly"
    enabled = false
  }
}
