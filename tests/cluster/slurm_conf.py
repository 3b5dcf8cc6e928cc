"""What the Slurm of the tests is told: its files in /etc/slurm, for a machine that plays several nodes."""

import os
from pathlib import Path

ROOT = Path(os.environ.get("AXENAT_SLURM_LAB", "/tmp/axenat-slurm"))
# The first line of each file, by which we know our own.
MARK = "# Written by tests/cluster/lab.py of axenat"
NODES, GPUS, CPUS, MEMORY = ("n1", "n2"), 2, 4, 7000

SLURM = f"""{MARK}
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=6817
# Both, or one of the daemons listens on every address.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A job that is put back into the queue may start again after so many seconds.
AuthInfo=cred_expire=10
StateSaveLocation={ROOT}/controller
SlurmdSpoolDir={ROOT}/spool/%n
SlurmctldPidFile={ROOT}/run/slurmctld.pid
SlurmdPidFile={ROOT}/run/%n.pid
SlurmctldLogFile={ROOT}/log/slurmctld.log
SlurmdLogFile={ROOT}/log/%n.log
MailProg=/bin/true
MpiDefault=none
# Without cgroups: processes are found by their parents, and memory is looked at every two seconds.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=0
# More processors than there are: these jobs wait for each other, but they all start.
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=600
KillWait=10
SlurmdTimeout=20
JobRequeue=1
# Who is in a hurry sends the jobs of others back into the queue, half a minute after they were told.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName=n[1-{len(NODES)}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[6821-{6820 + len(NODES)}] \
CPUs={CPUS} RealMemory={MEMORY} Gres=gpu:{GPUS} State=UNKNOWN
PartitionName=DEFAULT Nodes=n[1-{len(NODES)}] DefaultTime=10 MaxTime=240 DefMemPerCPU=1000 State=UP
PartitionName=cpu Default=YES PriorityTier=1 GraceTime=30
PartitionName=gpu PriorityTier=1 GraceTime=30
PartitionName=urgent PriorityTier=2 PreemptMode=OFF
"""
GRES = f"{MARK}\nNodeName=n[1-{len(NODES)}] Name=gpu File={ROOT}/gpu[0-{GPUS - 1}]\n"
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
ACCOUNTING = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=6819
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
"""
SLURMDBD = f"""{MARK}
AuthType=auth/munge
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=6819
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
PidFile={ROOT}/run/slurmdbd.pid
LogFile={ROOT}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct
"""
