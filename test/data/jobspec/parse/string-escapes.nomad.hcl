job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = "tab\there \"q\" back\\slash \u00e9 \U0001F600 nl\nend"
        B = "$${X} %%{Y} $$ %% 100% $ cost"
        C = "$$$${x}"
      }
    }
  }
}
