// Which names conditions of admission may have, and what may be asked of them.
#include "runtime/cluster/admission/condition_check.hpp"

#include "admission_texts.hpp"

namespace nomad::cluster {

TEST_CASE("condition: a name that nothing has is told, and what may be meant") {
  check_misread(
      {{rule_with("Job.ID == a"),
        "a condition (which sees job, namespace and caller) has no \"Job\". Did you mean "
        "\"job\"?"},
       {rule_with("job.TaskGroup is empty"),
        "job has no \"TaskGroup\". Did you mean \"TaskGroups\"?"},
       {rule_with("any job.TaskGroups as g { g.Cuont == 1 }"),
        "g has no \"Cuont\". Did you mean \"Count\"?"},
       {rule_with("any job.TaskGroups as _, g { any g.Tasks as t { t.Meta.a == t.Usr } }"), ""},
       {rule_with("any job.TaskGroups as _, g { any g.Tasks as t { t.Usr == 1 } }"),
        "t has no \"Usr\". Did you mean \"User\"?"},
       {rule_with("job.TaskGroups.0.Tasks.0.Drivr == a"), "0 has no \"Drivr\""},
       {rule_with("job.TaskGroups.Name == g"),
        "TaskGroups is a list: look at its elements by any or all"},
       {rule_with("job.Meta.anything == a and namespace.Meta.b == c and dev in caller.policies"),
        ""},
       {rule_with("caller.secret == a"), "caller has no \"secret\""}});
}

TEST_CASE("condition: what can be asked of no value of that kind is refused") {
  for (const auto* condition :
       {"job.Priority == 70", "job.Priority != `0x10`", "job.AllAtOnce == true", "job.ID == 7",
        "job.Periodic is empty", "job.Periodic is not empty", "job.Meta is empty",
        "job.Meta.a matches `x`", "dc1 in job.Datacenters", "ops not in caller.policies",
        "web in job.ID", "owner in job.Meta", "job.TaskGroups is not empty",
        "any job.Meta as k, v { k matches `^x-` and v != y }",
        "any job.TaskGroups as i, g { i == 0 and g.Count == 1 }",
        "all job.TaskGroups as g { all g.Tasks as t { t.KillTimeout == 5000000000 } }",
        "any job.TaskGroups as g { any g.Tasks as t { t.Config.a.b == c and t.Config.a is empty } "
        "}",
        "any job.TaskGroups as g { any g.Tasks as t { any t.Config.args as a { a matches x } } }"})
    check_misread({{rule_with(condition)}});
  check_misread(
      {{rule_with("job.ID matches `[`"),
        "At 1:1: the condition of rule \"r\": Failed to compile regular expression \"[\": "},
       {rule_with("job.ID == a or job.Name not matches `(`"), "Failed to compile"},
       {rule_with("job.Priority == high"),
        "\"job.Priority\" is a number: it cannot be compared with \"high\""},
       {rule_with("job.Priority matches `5`"),
        "\"job.Priority\" is a number: matches cannot be asked of it"},
       {rule_with("job.Priority is empty"), "is empty cannot be asked of it"},
       {rule_with("5 in job.Priority"), "in cannot be asked of it"},
       {rule_with("job.AllAtOnce == maybe"), "is true or false: it cannot be compared"},
       {rule_with("job.Meta == a"), "\"job.Meta\" is a map: == cannot be asked of it"},
       {rule_with("job.Datacenters matches dc1"), "is a list: matches cannot be asked of it"},
       {rule_with("web in job.TaskGroups"), "is a list: in cannot be asked of it"},
       {rule_with("job.Periodic == a"), "is an object: == cannot be asked of it"},
       {rule_with("job is empty"), "\"job\" is an object: is empty cannot be asked of it"},
       {rule_with("job.Meta.a.b == c"), "\"a\" is a text: \"b\" cannot be below it"},
       {rule_with("any job.TaskGroups as g { g.Count == many }"), "\"g.Count\" is a number"},
       {rule_with("any job.TaskGroups as i, g { i == first }"), "\"i\" is a number"},
       {rule_with("any job.ID as c { c == a }"),
        "\"job.ID\" is neither a list nor a map: any and all cannot go over it"},
       {rule_with("any job as x { x == a }"), "\"job\" is neither a list nor a map"},
       {rule_with("any job.Meta as x, x { x == a }"),
        "\"x\" cannot be the name of both the index and the value"}});
}

}  // namespace nomad::cluster
