import time

from google.protobuf.timestamp_pb2 import Timestamp
from motherlode.spin.v1 import campaign_pb2
from service import Refused

ROUNDS = 3


def free_rounds(player, session, stake, **more):
    played = grant(player, session.game, stake)
    for number in range(ROUNDS):
        player.bet(session, None, campaign_id=played, **more)
        if number == 0:
            refused(player, played, "CAMPAIGN_BEGUN")
    try:
        player.bet(session, None, campaign_id=played, **more)
        raise AssertionError("more rounds were played than granted")
    except Refused as over:
        assert over.reason == "CAMPAIGN_USED_UP", over
    taken_back = grant(player, session.game, stake)
    cancel(player, taken_back)
    states = {campaign.campaign_id: (campaign.state, campaign.rounds_left) for campaign in listed(player)}
    assert states == {
        played: (campaign_pb2.CAMPAIGN_STATE_USED_UP, 0),
        taken_back: (campaign_pb2.CAMPAIGN_STATE_CANCELLED, ROUNDS),
    }, states
    return ROUNDS


def grant(player, game, stake):
    name = player.request_id("campaign")
    request = campaign_pb2.GrantCampaignRequest(
        request_id=name,
        account=player.account,
        campaign_id=name,
        game=game,
        stake=stake,
        rounds=ROUNDS,
        expire_time=Timestamp(seconds=int(time.time()) + 86_400),
    )
    player.service.ask(player.service.spins.GrantCampaign, request)
    return name


def cancel(player, name):
    request = campaign_pb2.CancelCampaignRequest(
        request_id=player.request_id("cancel"),
        account=player.account,
        campaign_id=name,
        reason="the offer has ended",
        actor="aggregator",
    )
    player.service.ask(player.service.spins.CancelCampaign, request)


def refused(player, name, reason):
    try:
        cancel(player, name)
    except Refused as refusal:
        assert refusal.reason == reason, refusal
    else:
        raise AssertionError(f"{name} was cancelled")


def listed(player):
    request = campaign_pb2.ListCampaignsRequest(account=player.account, page_size=100)
    return player.service.ask(player.service.spins.ListCampaigns, request).campaigns
