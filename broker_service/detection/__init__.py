"""Detection of composite subscriptions: from publications that match their parts to the sets that fulfil them."""

from broker_service.detection.detector import Detection, Detector
from broker_service.detection.limits import DetectionLimits, Loss, LossReason
from broker_service.detection.matches import Arrival

__all__ = ["Arrival", "Detection", "DetectionLimits", "Detector", "Loss", "LossReason"]
