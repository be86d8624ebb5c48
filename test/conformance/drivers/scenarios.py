"""What tasks of each driver do, the same for both programs. Each is a batch job of one task; `probe` tasks tell what they see."""

# Told in sections, so that a difference has a name.
PROBE = r"""
echo "== env"; env | sort
echo "== place"; pwd; umask
echo "== who"; id -u; id -g
echo "== arguments"; for each in "$@"; do echo "$each"; done
echo "== directories"; for each in "$NOMAD_ALLOC_DIR" "$NOMAD_TASK_DIR" "$NOMAD_SECRETS_DIR"; do
  for name in "$each" "$each"/*; do if [ -e "$name" ]; then stat -c '%A %u:%g %n' "$name"; fi; done; done
"""
# Of raw_exec they are the agent's.
RIGHTS = """echo "== rights"; grep -E '^Cap(Prm|Eff|Bnd|Amb)' /proc/self/status
"""
IMAGE = "busybox:local"
JAVA_PROBE = """public class Probe {
  public static void main(String[] words) {
    for (String word : words) System.out.println(word);
    System.out.println(System.getProperty("user.dir") + " " + System.getProperty("user.name"));
    System.out.println("== env");
    new java.util.TreeMap<>(System.getenv()).forEach((name, value) -> System.out.println(name + "=" + value));
    System.exit(5);
  }
}
"""
SH = {"raw_exec": "/bin/sh", "exec": "/bin/sh", "docker": "sh"}


def shell(driver, script, *args):
    """The configuration of a task that runs a script."""
    config = {"command": SH[driver], "args": ["-c", script, "probe", *args]}
    return dict(config, image=IMAGE) if driver == "docker" else config


def with_shell(driver):
    def run(script, **more):
        return {"driver": driver, "config": shell(driver, script), **more}

    bad = {"image": IMAGE} if driver == "docker" else {}
    return {
        "probe": run(PROBE if driver == "raw_exec" else PROBE + RIGHTS),
        "environment": {
            "driver": driver, "config": shell(driver, PROBE, "${NOMAD_META_owner}", "${NOMAD_META_of_job}", "${env[\"PLAIN\"]}", "a b"),
            "task": {"Env": {"PLAIN": "x", "TWO_LINES": "a\nb", "WITH.DOT": "1", "OF_META": "${NOMAD_META_OWNER}", "HOME": "/nowhere"},
                     "Meta": {"owner": "me", "with.dot": "1", "UPPER": "2"}},
            "job": {"Meta": {"of_job": "j"}}, "group": {"Meta": {"of_group": "g"}}},
        "no_such_variable": {"driver": driver, "config": shell(driver, "true", "${nothing}")},
        "no_such_meta": {"driver": driver, "config": shell(driver, "true", "${meta.nothing}")},
        "ports": {
            "driver": driver, "config": shell(driver, "env | grep -E 'PORT|ADDR|IP' | sort"),
            "group": {"Networks": [{"Mode": "host", "DynamicPorts": [{"Label": "web"}, {"Label": "with-dash", "To": 80}],
                                    "ReservedPorts": [{"Label": "fixed", "Value": 23999}]}]}},
        "template": run("cat \"$NOMAD_TASK_DIR/made\"; stat -c '%a %u:%g' \"$NOMAD_TASK_DIR/made\"; echo $FROM_FILE; echo $NOMAD_ALLOC_NAME",
                        task={"Templates": [{"EmbeddedTmpl": "{{ env \"NOMAD_TASK_NAME\" }} {{ env \"NOMAD_META_x\" }}\n", "DestPath": "local/made", "Perms": "640"},
                                            {"EmbeddedTmpl": "FROM_FILE=yes", "DestPath": "secrets/env", "Envvars": True}]}),
        "exit_0": run("exit 0"),
        "exit_3": run("exit 3"),
        "exit_137": run("exit 137"),
        "killed": run("kill -9 $$"),
        "killed_by_term": run("kill -15 $$; sleep 5"),
        "restarts": run("exit 1", restart={"Attempts": 1, "Interval": 600_000_000_000, "Delay": 100_000_000, "Mode": "fail"}),
        **({} if driver == "raw_exec" else {
            "out_of_memory": run("exec tail /dev/zero", task={"Resources": {"CPU": 50, "MemoryMB": 20}})}),
        "no_such_program": {"driver": driver, "config": {"command": "/no/such/program", **bad}},
        "not_a_program": {"driver": driver, "config": {"command": "/etc", **bad}},
        "no_command": {"driver": driver, "config": {"args": ["x"], **bad}},
        "unknown_key": {"driver": driver, "config": {"command": "/bin/true", "comand": "x", **bad}},
        "wrong_type": {"driver": driver, "config": {"command": ["/bin/true"], **bad}},
        "no_such_user": run("id", task={"User": "nobody-has-this-name"}),
        "as_nobody": run("id -u; id -g; touch $NOMAD_TASK_DIR/mine && stat -c '%u:%g' $NOMAD_TASK_DIR/mine; cat $NOMAD_SECRETS_DIR/x; echo $HOME $USER $LOGNAME", task={"User": "nobody"}),
        "stopped": run("trap 'echo heard; exit 4' INT; echo up; while :; do sleep 0.1; done", stop=True,
                       task={"KillSignal": "SIGINT", "KillTimeout": 2_000_000_000}),
        "stopped_deaf": run("trap '' INT; echo up; while :; do sleep 0.1; done", stop=True,
                            task={"KillSignal": "SIGINT", "KillTimeout": 500_000_000}),
        "leftovers": run("sleep 300 & sleep 300 & echo up; exit 0"),
        "logs": run("i=0; while [ $i -lt 2000 ]; do echo \"line $i " + 600 * "." + "\"; i=$((i+1)); done; echo end >&2",
                    task={"LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 1}}, silent=True),
    }


SCENARIOS = {
    "raw_exec": {
        **with_shell("raw_exec"),
        "relative": {"driver": "raw_exec", "config": {"command": "sh", "args": ["-c", "pwd"]}},
        "of_the_task": {"driver": "raw_exec", "config": {"command": "local/own"},
                        "task": {"Templates": [{"EmbeddedTmpl": "#!/bin/sh\necho own $0\n", "DestPath": "local/own", "Perms": "644"}]}},
        "no_interpreter": {"driver": "raw_exec", "config": {"command": "${NOMAD_TASK_DIR}/own"},
                           "task": {"Templates": [{"EmbeddedTmpl": "#!/no/such/interpreter\n", "DestPath": "local/own", "Perms": "755"}]}},
    },
    "exec": {
        **with_shell("exec"),
        "of_the_task": {"driver": "exec", "config": {"command": "local/own"},
                        "task": {"Templates": [{"EmbeddedTmpl": "#!/bin/sh\necho own $0\n", "DestPath": "local/own", "Perms": "755"}]}},
        "apart": {"driver": "exec", "config": shell("exec", "ls /; (sleep 0.3; ls -d /proc/[0-9]*) | wc -l; echo $$; ls /dev; readlink /proc/self/ns/pid | cut -c1-4; hostname | wc -l")},
        "as_root": {"driver": "exec", "config": shell("exec", "id -u"), "task": {"User": "root"}},
        "capability": {"driver": "exec", "config": {**shell("exec", "grep CapBnd /proc/self/status"), "cap_drop": ["all"], "cap_add": ["kill"]}},
        "capability_denied": {"driver": "exec", "config": {**shell("exec", "true"), "cap_add": ["sys_admin"]}},
        "capability_unknown": {"driver": "exec", "config": {**shell("exec", "true"), "cap_add": ["flying"]}},
        "odd_pid_mode": {"driver": "exec", "config": {**shell("exec", "true"), "pid_mode": "odd"}},
        "host_modes": {"driver": "exec", "config": {**shell("exec", "[ $$ -gt 1 ] && echo host"), "pid_mode": "host", "ipc_mode": "host"}},
        "no_writing": {"driver": "exec", "config": shell("exec", "touch /etc/x; touch /x; touch /tmp/x && echo tmp; touch /alloc/x && echo alloc; touch /local/x && echo local; touch /secrets/x && echo secrets")},
    },
    "docker": {
        **with_shell("docker"),
        "no_such_image": {"driver": "docker", "config": {"image": "nobody/has-this:1", "image_pull_timeout": "5s"}, "vague": True},
        "no_image": {"driver": "docker", "config": {"command": "true"}},
        "entrypoint": {"driver": "docker", "config": {"image": IMAGE, "entrypoint": ["sh", "-c"], "args": ["echo of the entrypoint"]}},
        "working_directory": {"driver": "docker", "config": {**shell("docker", "pwd"), "work_dir": "/tmp"}},
        "labels_and_names": {"driver": "docker", "config": {**shell("docker", "hostname"), "hostname": "chosen", "labels": [{"a": "b"}]}},
        "no_network": {"driver": "docker", "config": {**shell("docker", "ip -o link | cut -d: -f2"), "network_mode": "none"}},
        "tmpfs": {"driver": "docker", "config": {**shell("docker", "grep ' /here ' /proc/mounts | cut -d' ' -f1-3"),
                                               "mount": [{"type": "tmpfs", "target": "/here", "tmpfs_options": [{"size": 100000}]}]}},
        "volume_of_the_host": {"driver": "docker", "config": {**shell("docker", "true"), "volumes": ["/etc:/host"]}},
        "volume_of_the_task": {"driver": "docker", "config": {**shell("docker", "echo x > /here/x && cat $NOMAD_TASK_DIR/sub/x"), "volumes": ["local/sub:/here"]}},
        "privileged": {"driver": "docker", "config": {**shell("docker", "true"), "privileged": True}},
        "capability_denied": {"driver": "docker", "config": {**shell("docker", "true"), "cap_add": ["sys_admin"]}},
        "host_network": {"driver": "docker", "config": {**shell("docker", "true"), "network_mode": "host"}},
        "read_only": {"driver": "docker", "config": {**shell("docker", "touch /x"), "readonly_rootfs": True}},
        "ulimit": {"driver": "docker", "config": {**shell("docker", "ulimit -n"), "ulimit": [{"nofile": "100:200"}]}},
        "odd_port": {"driver": "docker", "config": {**shell("docker", "true"), "ports": ["nobody"]}},
        "pids_limit": {"driver": "docker", "config": {**shell("docker", "cat /sys/fs/cgroup/pids/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids.max"), "pids_limit": 50}},
    },
    "java": {
        "probe": {"driver": "java", "config": {"class": "local/Probe.java", "class_path": "${NOMAD_TASK_DIR}", "jvm_options": ["-Xmx64m"], "args": ["a", "${NOMAD_TASK_NAME}"]},
                  "task": {"Resources": {"CPU": 100, "MemoryMB": 400},
                           "Templates": [{"EmbeddedTmpl": JAVA_PROBE, "DestPath": "local/Probe.java"}]}},
        "no_such_class": {"driver": "java", "config": {"class": "Missing"}, "task": {"Resources": {"CPU": 100, "MemoryMB": 300}}},
        "no_such_jar": {"driver": "java", "config": {"jar_path": "local/no.jar"}, "task": {"Resources": {"CPU": 100, "MemoryMB": 300}}},
        "neither": {"driver": "java", "config": {"args": ["x"]}},
    },
    "qemu": {
        "no_such_image": {"driver": "qemu", "config": {"image_path": "local/no.img"}, "vague": True},
        "image_elsewhere": {"driver": "qemu", "config": {"image_path": "/etc/passwd"}},
        "no_image": {"driver": "qemu", "config": {"args": ["-nographic"]}},
        "odd_argument": {"driver": "qemu", "config": {"image_path": "local/x.img", "accelerator": "nonsense"}, "vague": True},
    },
}
