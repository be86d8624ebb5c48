job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      user           = "nobody"
      leader         = true
      kind           = "k"
      kill_timeout   = "20s"
      kill_signal    = "SIGINT"
      shutdown_delay = "5s"
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }
      logs {
        max_files     = 3
        max_file_size = 4
        enabled       = false
        disabled      = true
      }
      dispatch_payload {
        file = "p"
      }
      identity {
        env  = true
        file = true
      }
      csi_plugin {
        id        = "x"
        type      = "node"
        mount_dir = "/m"
      }
      volume_mount {
        volume           = "v"
        destination      = "/d"
        read_only        = true
        propagation_mode = "host-to-task"
      }
      volume_mount {}
      artifact {
        source = "https://x/y/file.tgz?a=b"
        mode   = "file"
        options {
          checksum = "md5:x"
        }
        headers {}
      }
      artifact {
        source      = "git::x"
        destination = "local/d"
      }
      artifact {
        source = "z"
        headers {
          A = "b"
        }
      }
      template {
        source      = "a"
        destination = "b"
      }
      template {
        data                 = "x"
        destination          = "c"
        change_mode          = "signal"
        perms                = 600
        uid                  = 0
        gid                  = 7
        left_delimiter       = "(("
        right_delimiter      = "))"
        env                  = true
        error_on_missing_key = true
        vault_grace          = "1s"
        splay                = "1m"
        wait {
          min = "2s"
        }
      }
      template {
        data          = "x"
        change_mode   = "script"
        change_signal = "sighup"
        change_script {
          command = "/x"
          timeout = "3s"
        }
      }
    }
  }
}
