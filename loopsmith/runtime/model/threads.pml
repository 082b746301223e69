// SPDX-License-Identifier: Apache-2.0

// How the threads of a team sleep and wake each other, for Spin: README.md says what it shows. One
// step here is one access to an atomic of thread_team.cc, or one system call. A scenario is chosen
// by -D: the numbers below, and MEET, NESTED, ALONE, EXIT or FORK. WITHOUT_... leaves out a step
// that the code needs.

#ifndef HOSTS
#define HOSTS 1 // threads that run loops of their own
#endif
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef THREADS
#define THREADS (WORKERS + 1)
#endif
#ifndef LOOPS
#define LOOPS 2 // of each host
#endif
#ifndef CHUNKS
#define CHUNKS 2 // of each loop of the first host; other loops have 2
#endif
#ifdef FORK
#define TEAMS 2 // a child's is the second
#else
#define TEAMS 1
#endif
#define NESTED_SLOT HOSTS
#define SLOTS (HOSTS + 1)
#define NO_ROOT 255
#define NONE_REFUSED 255
#define ALL 255
#define CALLER 0 // stands for the number of a worker
#define MORE_THAN_TWO_PARTS (THREADS > 2)

typedef Slot {
  // The word `state`: each step below that touches one of these three is one access to it.
  bool open;
  bool sleep_bit;
  byte helpers;

  byte left; // chunks to claim
  bool exhausted; // that none is left has been told
  byte root; // of a nested loop
  bool taken;
  bool parked;  // its caller sleeps in the system
  byte joined;  // how many have helped with this loop
};

typedef Team {
  Slot slot[SLOTS];
  bool stopped;
  byte num_host_slots;
  byte num_nested_slots;
  short sleepers;
  byte wakes;
  byte refused; // the lowest worker that was refused because of hosts
  bool parked[WORKERS + 1]; // workers that sleep in the system
  byte ended;               // workers that have returned
};

Team team[TEAMS];
byte hosts_done = 0;
bool is_child = false; // after the fork that the scenario looks at, all but one thread are gone
bool is_over = false;

#define SLOT(s) team[t].slot[s]
#ifdef WITHOUT_ASKING_FOR_THE_ROOT_AGAIN
#define ROOT_IS_STILL(wanted) true
#else
#define ROOT_IS_STILL(wanted) (wanted == NO_ROOT || SLOT(NESTED_SLOT).root == wanted)
#endif

// ---- What hosts and workers do alike ----------------------------------------------------------

// Where all threads of a scenario may always work, no thread has to count the hosts.
#define CROWDED (HOSTS + WORKERS > THREADS)

inline count_hosts(count) {
#if CROWDED
  count = (team[t].num_host_slots > 0 && SLOT(0).open);
#if HOSTS > 1
  count = count + (team[t].num_host_slots > 1 && SLOT(1).open)
#endif
#else
  count = 0
#endif
}

inline may_work(worker, answer) {
  count_hosts(hosts_seen);
  answer = worker + hosts_seen <= THREADS;
  hosts_seen = 0
}

// Tells callers, who ask after each chunk, to wake workers as soon as this one may work.
inline note_refused(worker) {
  do
  :: refused_seen = team[t].refused;
    if
    :: refused_seen <= worker -> break
    :: else
    fi;
    atomic {
      if
      :: team[t].refused == refused_seen -> team[t].refused = worker; break
      :: else
      fi
    }
  od;
  refused_seen = 0
}

// May this worker join a loop? If hosts forbid it, it tells so and asks again: a host that left
// before could not be told.
inline may_join(worker, answer) {
  may_work(worker, answer);
#if CROWDED
  if
  :: !answer ->
#ifndef WITHOUT_NOTING_WHO_IS_REFUSED
    note_refused(worker);
#endif
#ifndef WITHOUT_ASKING_FOR_HOSTS_AGAIN
    may_work(worker, answer)
#endif
  :: else
  fi
#endif
}

// Wakes workers by `wakes`, and the host that sleeps in the loop around this one.
inline wake_workers(most, outer) {
  if
  :: outer != NO_ROOT && SLOT(outer).sleep_bit ->
#ifndef WITHOUT_WAKING_THE_ROOT
    SLOT(outer).sleep_bit = false;
    SLOT(outer).parked = false
#endif
  :: else
  fi;
  if
  :: team[t].sleepers <= 0
  :: else ->
    count_hosts(hosts_seen);
    if
    :: 1 + hosts_seen > THREADS ->
#ifdef WITHOUT_NOTING_WHO_IS_NOT_WOKEN
      true
#else
      note_refused(1)
#endif
    :: else ->
      to_wake = (hosts_seen > 1 -> ALL : most);
      team[t].wakes++;
      unpark_workers(to_wake);
      team[t].sleepers = team[t].sleepers - woken
    fi
  fi;
  hosts_seen = 0;
  to_wake = 0;
  woken = 0
}

inline unpark_workers(most) {
  atomic {
    woken = 0;
    do
    :: woken < most && team[t].parked[1] -> team[t].parked[1] = false; woken++
#if WORKERS > 1
    :: woken < most && team[t].parked[2] -> team[t].parked[2] = false; woken++
#endif
#if WORKERS > 2
    :: woken < most && team[t].parked[3] -> team[t].parked[3] = false; woken++
#endif
    :: else -> break
    od
  }
}

inline claim(s) {
  atomic {
    if
    :: SLOT(s).left > 0 -> SLOT(s).left--; claimed = true
    :: else -> claimed = false
    fi
  }
}

inline leave(s) {
  atomic {
    was_last = SLOT(s).sleep_bit && SLOT(s).helpers == 1 && !SLOT(s).open;
    SLOT(s).helpers--
  }
  if
  :: was_last -> SLOT(s).parked = false
  :: else
  fi;
  was_last = false
}

// Helps with the loop in a nested slot, if it is open and under `wanted`. Its chunks open no loops.
inline help_nested(worker, wanted) {
  if
  :: team[t].num_nested_slots == 0
  :: else ->
    if
    :: !SLOT(NESTED_SLOT).open
    :: SLOT(NESTED_SLOT).exhausted
    :: SLOT(NESTED_SLOT).open && !SLOT(NESTED_SLOT).exhausted ->
      if
      :: wanted != NO_ROOT && SLOT(NESTED_SLOT).root != wanted
      :: else ->
        allowed = true;
        if
        :: worker != CALLER -> may_join(worker, allowed)
        :: else
        fi;
        if
        :: !allowed
        :: else ->
          atomic {
            was_open = SLOT(NESTED_SLOT).open;
            SLOT(NESTED_SLOT).helpers++
          }
          if
          :: was_open && ROOT_IS_STILL(wanted) ->
            assert(wanted == NO_ROOT || SLOT(NESTED_SLOT).root == wanted);
            if
            :: worker != CALLER && MORE_THAN_TWO_PARTS ->
              wake_workers(2, SLOT(NESTED_SLOT).root)
            :: else
            fi;
            do
            :: claim(NESTED_SLOT);
              if
              :: !claimed ->
                SLOT(NESTED_SLOT).exhausted =
                  SLOT(NESTED_SLOT).exhausted || (worker != CALLER && MORE_THAN_TWO_PARTS);
                break
              :: else -> SLOT(NESTED_SLOT).joined = 1
              fi;
              if
              :: worker != CALLER ->
                may_work(worker, allowed);
                if
                :: !allowed -> break
                :: else
                fi
              :: else
              fi
            od;
            helped = true
          :: else
          fi;
          leave(NESTED_SLOT)
        fi
      fi
    fi
  fi;
  allowed = false;
  was_open = false;
  claimed = false
}

// `share` up to the caller's first chunk.
inline open_loop(s, outer, most) {
  atomic {
    SLOT(s).left = (s == 0 -> CHUNKS - 1 : 1);
    SLOT(s).exhausted = false;
    SLOT(s).joined = 0;
    SLOT(s).open = true
  }
  wake_workers(most, outer)
}

// Sleeps while the state is what it was when the caller set its bit.
inline park_caller(s) {
  atomic {
    if
    :: SLOT(s).sleep_bit && !SLOT(s).open && SLOT(s).helpers == helpers -> SLOT(s).parked = true
    :: else
    fi
  }
  !SLOT(s).parked
}

// The end of `share`: no more helpers may join; waits for those inside.
inline close_loop(s, outer) {
  atomic {
    SLOT(s).open = false;
    helpers = SLOT(s).helpers
  }
  do
  :: helpers == 0 -> break
  :: else ->
    helped = false;
    if
    :: outer != NO_ROOT -> help_nested(CALLER, outer) // while it spins
    :: true
    fi;
    if
    :: helped
    :: else ->
      atomic {
        SLOT(s).sleep_bit = true;
        helpers = SLOT(s).helpers
      }
#ifndef WITHOUT_LOOKING_AGAIN_FOR_INNER_LOOPS
      if
      :: outer != NO_ROOT -> help_nested(CALLER, outer)
      :: else
      fi;
#endif
      if
      :: !helped && helpers != 0 ->
        park_caller(s)
      :: else
      fi;
      SLOT(s).sleep_bit = false
    fi;
    helpers = SLOT(s).helpers
  od;
  helped = false
}

// The caller's own chunks, one of which it has run. After each it asks whether a host has left.
inline work_as_caller(s, outer) {
  do
  :: claim(s);
    if
    :: !claimed -> break
    :: else
    fi;
#ifdef ALONE
    if
    :: must_be_helped -> SLOT(s).joined > 0
    :: else
    fi;
#endif
#if CROWDED
#ifdef ALONE
    others_are_gone = hosts_done == HOSTS - 1;
#endif
    refused_seen = team[t].refused;
    if
    :: refused_seen != NONE_REFUSED ->
      count_hosts(hosts_seen);
      if
      :: refused_seen + hosts_seen <= THREADS ->
        team[t].refused = NONE_REFUSED;
        wake_workers(ALL, outer)
      :: else
      fi
    :: else
    fi;
    hosts_seen = 0;
    refused_seen = 0;
#ifdef ALONE
    // The others were gone before it asked: from here on a worker must come.
    if
    :: id == 0 && others_are_gone && SLOT(s).left > 1 -> must_be_helped = true
    :: else
    fi
#endif
#endif
  od;
  claimed = false
}

inline acquire(count, most) {
  if
  :: count < most -> count = most
  :: else
  fi
}

// A loop in a chunk of a loop of slot `around`. Its first chunk waits until somebody helps.
inline run_nested_loop(around) {
  atomic {
    if
    :: !SLOT(NESTED_SLOT).taken -> SLOT(NESTED_SLOT).taken = true; has_slot = true
    :: else
    fi
  }
  if
  :: has_slot ->
    SLOT(NESTED_SLOT).root = around;
    acquire(team[t].num_nested_slots, 1);
    open_loop(NESTED_SLOT, around, (THREADS > 3 -> 2 : THREADS - 1));
#ifdef MEET
    SLOT(NESTED_SLOT).joined > 0;
#endif
    work_as_caller(NESTED_SLOT, around);
    close_loop(NESTED_SLOT, NO_ROOT);
    SLOT(NESTED_SLOT).taken = false;
    has_slot = false
  :: else
  fi
}

// ---- Hosts ------------------------------------------------------------------------------------

#ifdef WITHOUT_A_TEAM_OF_ITS_OWN
#define CHILDS_TEAM 0
#else
#define CHILDS_TEAM 1
#endif

#define VARIABLES \
  byte hosts_seen, to_wake, woken, helpers, refused_seen; \
  bool claimed, was_last, was_open, allowed, helped, has_slot, must_be_helped, others_are_gone

inline host() {
  do
  :: loops == LOOPS -> break
  :: else ->
    acquire(team[t].num_host_slots, id + 1);
    open_loop(id, NO_ROOT, (THREADS > 3 -> 2 : THREADS - 1));
#if defined(MEET) && !defined(NESTED)
    SLOT(id).joined >= WORKERS;
#endif
#ifdef HOSTS_NEST
    run_nested_loop(id);
#endif
    work_as_caller(id, NO_ROOT);
    close_loop(id, id);
#ifdef ALONE
    must_be_helped = false;
    others_are_gone = false;
#endif
    loops++;
#ifdef FORK
    if
    :: id == 0 && !is_child ->
      atomic {
        run ChildHost(id, CHILDS_TEAM);
        run ChildWorker(1, CHILDS_TEAM);
        is_child = true
      }
    :: true
    fi
#endif
  od;
  hosts_done++
}

proctype Host(byte id; byte t) provided (!is_child) {
  byte loops;
  VARIABLES;
  host()
}

// The thread that forked, in the child: there it is the only one, and runs one more loop.
proctype ChildHost(byte id; byte t) {
  byte loops = LOOPS - 1;
  VARIABLES;
  hosts_done = HOSTS - 1;
  host()
}

// ---- Workers ----------------------------------------------------------------------------------

inline help_host(worker, s) {
  if
  :: team[t].num_host_slots <= s
  :: else ->
    if
    :: !SLOT(s).open
    :: SLOT(s).exhausted
    :: SLOT(s).open && !SLOT(s).exhausted ->
      may_join(worker, allowed);
      if
      :: !allowed
      :: else ->
        atomic {
          was_open = SLOT(s).open;
          SLOT(s).helpers++
        }
        if
        :: was_open ->
          if
          :: MORE_THAN_TWO_PARTS -> wake_workers(2, s)
          :: else
          fi;
          do
          :: claim(s);
            if
            :: !claimed ->
              SLOT(s).exhausted = MORE_THAN_TWO_PARTS;
              break
            :: else -> SLOT(s).joined++
            fi;
#ifdef NESTED
            run_nested_loop(s);
#elif defined(MEET)
            SLOT(s).joined >= WORKERS;
#endif
            may_work(worker, allowed);
            if
            :: !allowed -> break
            :: else
            fi
          od;
          helped = true
        :: else
        fi;
        leave(s)
      fi
    fi
  fi;
  allowed = false;
  was_open = false;
  claimed = false
}

inline help_any(worker) {
  help_host(worker, 0);
#if HOSTS > 1
  help_host(worker, 1);
#endif
#if defined(NESTED) || defined(HOSTS_NEST)
  help_nested(worker, NO_ROOT)
#endif
}

// Sleeps while `wakes` is what it was.
inline park_worker(worker) {
  atomic {
    if
    :: team[t].wakes == wakes_seen -> team[t].parked[worker] = true; asleep = true
    :: else
    fi
  }
  !team[t].parked[worker]
}

inline work_until_stopped(worker) {
  do
  :: team[t].stopped -> break
  :: else ->
    helped = false;
    help_any(worker);
    if
    :: helped
    :: else ->
#ifndef AWAKE
#ifndef WITHOUT_LOADING_THE_COUNT_FIRST
      wakes_seen = team[t].wakes;
#endif
#ifndef WITHOUT_BEING_COUNTED_FIRST
      team[t].sleepers++;
#endif
      stay = false;
#ifndef WITHOUT_ASKING_FOR_THE_END_AGAIN
      stay = team[t].stopped;
#endif
#ifndef WITHOUT_ASKING_FOR_LOOPS_AGAIN
      if
      :: !stay -> help_any(worker)
      :: else
      fi;
#endif
#ifdef WITHOUT_BEING_COUNTED_FIRST
      team[t].sleepers++;
#endif
#ifdef WITHOUT_LOADING_THE_COUNT_FIRST
      wakes_seen = team[t].wakes;
#endif
      asleep = false;
      if
      :: !stay && !helped -> park_worker(worker)
      :: else
      fi;
      if
      :: !asleep -> team[t].sleepers--
      :: else
      fi;
      asleep = false;
      stay = false;
      wakes_seen = 0
#else
      true
#endif
    fi
  od;
  team[t].ended++
}

proctype Worker(byte id; byte t) provided (!is_child) {
  byte wakes_seen;
  bool asleep, stay;
  VARIABLES;
  work_until_stopped(id)
}

proctype ChildWorker(byte id; byte t) {
  byte wakes_seen;
  bool asleep, stay;
  VARIABLES;
  work_until_stopped(id)
}

// ---- The end ----------------------------------------------------------------------------------

proctype Owner() {
  byte t, woken;
#ifndef EXIT
  hosts_done == HOSTS;
#endif
  if
  :: is_child -> t = CHILDS_TEAM
  :: else
  fi;
#ifdef WITHOUT_TELLING_THE_END_FIRST
  team[t].wakes++;
  team[t].stopped = true;
#else
  team[t].stopped = true;
  team[t].wakes++;
#endif
  unpark_workers(ALL);
  team[t].sleepers = team[t].sleepers - woken;
  team[t].ended == WORKERS;
  is_over = true
}

// No process can take a step any more: all must be over.
active proctype Watch() {
  timeout;
  assert(is_over && hosts_done == HOSTS)
}

init {
  atomic {
    byte i;
    for (i : 0 .. TEAMS - 1) {
      team[i].refused = NONE_REFUSED
    }
    for (i : 1 .. WORKERS) {
      run Worker(i, 0)
    }
    for (i : 1 .. HOSTS) {
      run Host(i - 1, 0)
    }
    run Owner()
  }
}
