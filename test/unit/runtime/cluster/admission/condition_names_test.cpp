// Which names conditions of admission may have.
#include "runtime/cluster/admission/condition_names.hpp"

#include "admission_texts.hpp"

namespace nomad::cluster {

TEST_CASE("condition names: a name that nothing has is told, and what may be meant") {
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

}  // namespace nomad::cluster
