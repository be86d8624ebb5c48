variable "a" {
  type    = string
  default = "dev-1"
  validation {
    condition     = can(regex_replace(var.a, "x", "")) && strlen(var.a) > 3
    error_message = "Too short."
  }
}
job "j" {
  region = var.a
}
