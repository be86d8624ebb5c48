variable "a" {
  default = "x"
  validation {
    condition     = strlen(var.a) > 3
    error_message = "The name is too short."
  }
}
job "j" {

}
