variable "a" {
  default = "x"
  validation {
    condition     = var.a != ""
    error_message = "too short"
  }
}
job "j" {

}
