job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = [chunklist([1, 2, 3], 2), coalesce(null, "", "x"), coalescelist([], [1]), compact(["", "a"]), concat([1], [2]), contains(["a"], "a"), distinct(["a", "b", "a"])]
        b = [element(["a", "b"], 3), flatten([[1], [2, [3]]]), index(["a", "b"], 1), keys({ b = 1, a = 2 }), values({ b = 1, a = 2 }), length([1, 2]), lookup({ a = "x" }, "b", "d")]
        c = [merge({ a = 1 }, { b = 2 }), range(3), range(1, 4), range(0, 6, 2), setintersection(["a", "b"], ["b"]), setproduct(["a"], ["x", "y"]), setunion(["b"], ["a"]), slice(["a", "b", "c"], 1, 2), sort(["b", "a"]), zipmap(["a"], [1])]
      }
    }
  }
}
