"""Writes of the same things at once, at all servers: each is as if it had come before or after the others."""
import threading
import unittest

import cluster
import harness


def scalable_job(job_id, groups):
    """A batch job of no node: its groups have no allocations."""
    made = cluster.small_job(job_id)
    made["Job"].pop("ParameterizedJob")
    task = made["Job"]["TaskGroups"][0]["Tasks"][0]
    made["Job"]["Datacenters"] = ["nowhere"]
    made["Job"]["TaskGroups"] = [{"Name": name, "Count": 1, "Tasks": [task]} for name in groups]
    return made


class ConcurrentTest(cluster.Case):
    count = 3

    def at_once(self, *works):
        """Runs all at once, each with a server of its own, in turn; what they return."""
        results = [None] * len(works)
        gate = threading.Barrier(len(works))

        def run(place):
            gate.wait()
            results[place] = works[place](self.cluster.servers[place % self.count])

        threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def ask(self, method, path, body=None):
        return lambda server: server.request(method, path, body, timeout=30)

    def test_groups_of_a_job_are_scaled_at_once_by_who_enforces_nothing(self):
        groups = [f"g{number}" for number in range(6)]
        self.assertEqual(200, self.leader.request("PUT", "/v1/jobs", scalable_job("web", groups)).status)

        def scale(group):
            def work(server):
                return [server.request("PUT", "/v1/job/web/scale",
                                       {"Count": count, "Target": {"Group": group}}, timeout=30)
                        for count in range(2, 12)]
            return work

        for answers in self.at_once(*(scale(group) for group in groups)):
            for answer in answers:
                self.assertEqual(200, answer.status, answer.body)
        found = self.leader.try_get("/v1/job/web")
        self.assertEqual({group: 11 for group in groups},
                         {group["Name"]: group["Count"] for group in found["TaskGroups"]})
        self.assertEqual(60, found["Version"])  # each of them once

    def test_a_namespace_goes_or_what_is_put_into_it_stays(self):
        ends = set()
        for number in range(25):
            ns = f"n{number}"
            self.leader.request("PUT", f"/v1/namespace/{ns}", {"Name": ns})
            body = {"Namespace": ns, "Path": "p", "Items": {"a": "b"}}
            job = cluster.small_job("job")
            job["Job"]["Namespace"] = ns
            works = [self.ask("PUT", f"/v1/var/p{each}?namespace={ns}", {**body, "Path": f"p{each}"})
                     for each in range(2)]
            if number % 2:
                works.append(self.ask("PUT", f"/v1/jobs?namespace={ns}", job))
            works.append(self.ask("DELETE", f"/v1/namespace/{ns}"))
            *puts, gone = self.at_once(*works)
            accepted = [put.status == 200 for put in puts]
            ends.add((gone.status == 200, any(accepted)))
            self.assertNotEqual((True, True), (gone.status == 200, any(accepted)),
                                f"{ns}: {puts} {gone}")
            left = [*self.leader.try_get(f"/v1/vars?namespace={ns}"),
                    *self.leader.try_get(f"/v1/jobs?namespace={ns}")]
            self.assertEqual(sum(accepted), len(left))
            for put in puts:
                if put.status != 200:
                    self.assertIn("nonexistent namespace", put.body)
        self.assertTrue(ends, ends)

    def test_a_token_counts_once(self):
        self.leader.request("PUT", "/v1/jobs", cluster.small_job("para"))
        answers = self.at_once(*(
            self.ask("PUT", "/v1/job/para/dispatch?idempotency_token=once", {"Meta": {}})
            for _ in range(9)))
        self.assertEqual({200}, {answer.status for answer in answers}, answers)
        self.assertEqual(1, len({answer.json["DispatchedJobID"] for answer in answers}))
        children = [each for each in self.leader.try_get("/v1/jobs?prefix=para")
                    if each["ID"] != "para"]
        self.assertEqual(1, len(children))

    def test_of_those_who_enforce_an_index_one_wins(self):
        self.leader.request("PUT", "/v1/jobs", scalable_job("web", ["a"]))
        index = self.leader.try_get("/v1/job/web")["JobModifyIndex"]

        def register(count):
            body = scalable_job("web", ["a"])
            body["Job"]["TaskGroups"][0]["Count"] = count
            return self.ask("PUT", "/v1/jobs",
                            {**body, "EnforceIndex": True, "JobModifyIndex": index})

        answers = self.at_once(*(register(count) for count in range(2, 11)))
        self.assertEqual([200], [answer.status for answer in answers if answer.status == 200])
        for answer in answers:
            if answer.status != 200:
                self.assertEqual(409, answer.status)
                self.assertIn(f"Enforcing job modify index {index}: job exists with conflicting "
                              "job modify index: ", answer.body)


if __name__ == "__main__":
    harness.main()
