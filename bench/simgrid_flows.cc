// The same flows in SimGrid: the oracle of the flow engine's tests and the
// yardstick of its benchmark.
//
//     simgrid_flows FABRIC ROUTE FILE [PRECISION]
//
// FABRIC is ls:H:S or ft3:H:L:A:C, ROUTE dmodk or ecmp[:SEED], FILE has lines
// `src dst bytes start [finish]`. Prints the finish time of each flow, then
// `cpu SECONDS` of the simulation alone.
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Flow {
    unsigned src, dst;
    double bytes, start, finish;
};

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static unsigned H, L, A, C;
static bool three, ecmp;
static uint64_t seed = 1;
static sg4::NetZone *zone;
static std::map<std::string, sg4::Link *> links;
static std::vector<sg4::Host *> hosts;
static std::vector<Flow> flows;

static sg4::Link *link(const std::string &name) {
    auto &l = links[name];
    if (!l) {
        l = zone->create_link(name, 50e9);
        l->set_latency(0);
        l->seal();
    }
    return l;
}

static std::vector<sg4::LinkInRoute> path(unsigned s, unsigned d) {
    std::vector<sg4::LinkInRoute> p;
    auto add = [&](const std::string &n) { p.emplace_back(link(n)); };
    auto str = [](unsigned x) { return std::to_string(x); };
    uint64_t h = ecmp ? mix(seed ^ ((uint64_t)s << 32 | d)) : d;
    unsigned a = s / H, b = d / H;
    add("up" + str(s));
    if (a != b && (!three || a / L == b / L)) {
        std::string j = str((unsigned)(h % A));
        add("lu" + str(a) + "." + j);
        add("ld" + str(b) + "." + j);
    } else if (a != b) {
        std::string j = str((unsigned)(h % A)), c = str((unsigned)(h / A % C));
        add("lu" + str(a) + "." + j);
        add("cu" + str(a / L) + "." + j + "." + c);
        add("cd" + str(b / L) + "." + j + "." + c);
        add("ld" + str(b) + "." + j);
    }
    add("down" + str(d));
    return p;
}

static void starter(std::vector<unsigned> ids) {
    std::vector<std::pair<sg4::CommPtr, unsigned>> running;
    sg4::this_actor::sleep_until(flows[ids[0]].start);
    for (unsigned id : ids) {
        sg4::CommPtr c = sg4::Comm::sendto_init(hosts[flows[id].src], hosts[flows[id].dst]);
        c->set_payload_size((uint64_t)flows[id].bytes);
        c->start();
        running.emplace_back(c, id);
    }
    for (auto &r : running) {
        r.first->wait();
        flows[r.second].finish = r.first->get_finish_time();
    }
}

static double cpu() {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    sg4::Engine e(&argc, argv);
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/TCP-gamma:0");
    sg4::Engine::set_config("network/crosstraffic:0");
    sg4::Engine::set_config("network/weight-S:0");
    sg4::Engine::set_config("network/latency-factor:1");
    sg4::Engine::set_config("network/bandwidth-factor:1");
    if (argc > 4) sg4::Engine::set_config(std::string("surf/precision:") + argv[4]);
    three = argv[1][0] == 'f';
    if (three) sscanf(argv[1], "ft3:%u:%u:%u:%u", &H, &L, &A, &C);
    else sscanf(argv[1], "ls:%u:%u", &H, &A);
    ecmp = !strncmp(argv[2], "ecmp", 4);
    if (ecmp && argv[2][4]) seed = strtoull(argv[2] + 5, nullptr, 10);
    unsigned n = 0;
    char line[256];
    FILE *in = fopen(argv[3], "r");
    if (!in) return 2;
    while (fgets(line, sizeof line, in)) {
        Flow f{};
        if (sscanf(line, "%u %u %lf %lf", &f.src, &f.dst, &f.bytes, &f.start) != 4) continue;
        flows.push_back(f);
        n = std::max(n, std::max(f.src, f.dst) + 1);
    }
    fclose(in);
    zone = sg4::create_full_zone("net");
    for (unsigned i = 0; i < n; i++) hosts.push_back(zone->create_host("h" + std::to_string(i), 1e9));
    std::map<std::pair<unsigned, unsigned>, bool> routed;
    for (auto &f : flows) {
        if (routed[{f.src, f.dst}]) continue;
        routed[{f.src, f.dst}] = true;
        zone->add_route(hosts[f.src]->get_netpoint(), hosts[f.dst]->get_netpoint(), nullptr, nullptr, path(f.src, f.dst), false);
    }
    zone->seal();
    std::map<double, std::vector<unsigned>> starts;
    for (unsigned i = 0; i < flows.size(); i++) starts[flows[i].start].push_back(i);
    for (auto &s : starts) sg4::Actor::create("s", hosts[0], starter, s.second);
    double begin = cpu();
    e.run();
    double spent = cpu() - begin;
    for (auto &f : flows) printf("%.17g\n", f.finish);
    printf("cpu %.6f\n", spent);
    return 0;
}
